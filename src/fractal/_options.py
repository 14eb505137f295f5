"""Named options of layers and models, shared by `fractal.nn` and `fractal.torch`."""

from typing import Literal, get_args

SequenceTask = Literal["classification", "regression", "retrieval", "next-token"]
Pooling = Literal["mean", "last", "none"]
Positions = Literal["none", "sinusoid", "learned"]
Encoder = Literal["embedding", "one-hot"]
Masking = Literal["all", "pooling"]
DType = Literal["float32", "bfloat16", "float64"]
Gate = Literal["silu", "half_glu1", "half_glu2", "full_glu"]
Norm = Literal["layer", "batch"]
DenseInit = Literal["uniform", "lecun"]

GATES = get_args(Gate)
DENSE_INITS = get_args(DenseInit)
CLOCKS = ("uniform", "scale-invariant")
DISCRETIZATIONS = ("zoh", "bilinear")
RATES = ("path",)
METHODS = ("auto", "sequential", "associative", "chunked")  # of the scan
