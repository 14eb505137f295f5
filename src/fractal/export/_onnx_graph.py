"""A graph of ONNX under construction: operators in scopes, with names for Netron."""

from collections.abc import Sequence
from typing import Any

import numpy as np

OPSET, IR_VERSION = 17, 8


class OnnxGraph:
    """Nodes, constants, inputs and outputs. Tensors are named `scope/name`."""

    def __init__(self):
        self._scope = ""
        self._used: dict[str, int] = {}
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def within(self, name: str) -> "OnnxGraph":
        """The same graph, whose next tensors are named in a scope."""
        inner = object.__new__(OnnxGraph)
        inner.__dict__.update(self.__dict__)
        inner._scope = f"{self._scope}{name}/"
        return inner

    def op(self, kind: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add an operator with one output."""
        return self.ops(kind, *inputs, names=[name or kind.lower()], **attributes)[0]

    def ops(self, kind: str, *inputs: str, names: Sequence[str], **attributes: Any) -> list[str]:
        """Add an operator with several outputs."""
        from onnx import helper

        outputs = [self._unique(name) for name in names]
        self._nodes.append(helper.make_node(kind, inputs, outputs, name=outputs[0], **attributes))
        return outputs

    def constant(self, name: str, array: Any, dtype: type = np.float32) -> str:
        """Add a constant; floating-point numbers are rounded to float32."""
        from onnx import numpy_helper

        found = self._unique(name)
        value = np.ascontiguousarray(np.asarray(array, dtype))
        # ascontiguousarray makes scalars one-dimensional.
        value = value.reshape(np.shape(array))
        self._constants.append(numpy_helper.from_array(value, found))
        return found

    def input(self, name: str, shape: Sequence[int | str], dtype: type = np.float32) -> str:
        """Declare an input of the graph."""
        self._inputs.append(_declared(name, shape, dtype))
        return name

    def output(
        self, name: str, tensor: str, shape: Sequence[int | str], dtype: type = np.float32
    ) -> None:
        """Declare a tensor as an output of the graph."""
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [tensor], [name], name=name))
        self._outputs.append(_declared(name, shape, dtype))

    def serialize(self, name: str, description: str, version: str) -> bytes:
        """The checked model."""
        import onnx
        from onnx import helper

        graph = helper.make_graph(
            self._nodes, name, self._inputs, self._outputs, self._constants, description
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="fractal",
            producer_version=version,
        )
        onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString(deterministic=True)

    def _unique(self, name: str) -> str:
        full = self._scope + name
        number = self._used[full] = self._used.get(full, 0) + 1
        return full if number == 1 else f"{full}_{number}"


def _declared(name: str, shape: Sequence[int | str], dtype: type) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(shape)
    )
