"""Items with features: the operators of words with parts, with word2vec's learning rate and negatives."""

from any2vec.operators.base import Operator
from any2vec.operators.cbow import CBOW
from any2vec.operators.hierarchical import HierarchicalCBOW, HierarchicalSkipGram
from any2vec.operators.parts import HierarchicalPartCBOW, HierarchicalPartSkipGram, PartCBOW, PartSkipGram
from any2vec.operators.skipgram import SkipGram

__all__ = ["WITH_FEATURES"]


class FeatureSkipGram(PartSkipGram):
    """Skip-gram with negative sampling, of items with features."""

    alpha, ns_exponent = SkipGram.alpha, SkipGram.ns_exponent
    reads = (*SkipGram.reads, "features")


class HierarchicalFeatureSkipGram(HierarchicalPartSkipGram):
    """Skip-gram with hierarchical softmax, of items with features."""

    alpha = HierarchicalSkipGram.alpha
    reads = (*HierarchicalSkipGram.reads, "features")


class FeatureCBOW(PartCBOW):
    """CBOW with negative sampling, of items with features."""

    ns_exponent = CBOW.ns_exponent
    reads = (*CBOW.reads, "features")


class HierarchicalFeatureCBOW(HierarchicalPartCBOW):
    """CBOW with hierarchical softmax, of items with features."""

    reads = (*HierarchicalCBOW.reads, "features")


WITH_FEATURES: dict[type[Operator], type[Operator]] = {
    SkipGram: FeatureSkipGram,
    CBOW: FeatureCBOW,
    HierarchicalSkipGram: HierarchicalFeatureSkipGram,
    HierarchicalCBOW: HierarchicalFeatureCBOW,
}
"""The operator that takes an operator's place if items have features."""
