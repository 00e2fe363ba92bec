from itemadapter import ItemAdapter
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from jobs.models import Base, JobModel


class ModelPipeline:
    """What comes out is no item any more."""

    def process_item(self, item):
        return JobModel(**ItemAdapter(item).asdict())


class SavePipeline:
    def open_spider(self):
        self.engine = create_engine("sqlite:///jobs.db")
        Base.metadata.create_all(self.engine)

    def close_spider(self):
        self.engine.dispose()

    def process_item(self, model):
        with Session(self.engine) as session:
            session.add(model)
            session.commit()
        return model
