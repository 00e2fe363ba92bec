"""The old place of `dedup.NearDuplicatePipeline`, which settings may go on naming."""

from dedup.stage.pipelines import NearDuplicatePipeline

__all__ = ["NearDuplicatePipeline"]
