"""Models in ONNX: the standard's own cases, onnxruntime as the judge of exports, other people's models."""
