"""The report as one HTML page that holds all it needs: data, styles, scripts; it asks no server for anything."""
