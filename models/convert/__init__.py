"""Makes the embedded models: MediaPipe's TFLite networks as plain ONNX, its canonical face as arrays.

`python -m models.convert` fetches the pinned packages, checks them and writes `models/embedded/`;
the result is the same to the byte on every machine. Needs numpy, onnx, flatbuffers and tflite (the
schema), neither TensorFlow nor a TFLite runtime.
"""
