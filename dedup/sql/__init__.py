"""The database: connections, engines, tables, outages."""
