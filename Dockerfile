# The image for make-data's workers on a cluster: this program, Beam and what reading text
# needs. TensorFlow and Keras, which only training needs, are left out.
#
#     docker build --tag REGION-docker.pkg.dev/PROJECT/albert/worker:1 .
#
# Python's minor version and Beam's version must be those of the machine that submits the
# job.
ARG PYTHON=3.11
ARG BEAM=2.77.0

FROM python:${PYTHON}-slim AS build
COPY . /albert
RUN pip wheel --no-deps --wheel-dir /wheels /albert

# The image for training: docker build --target training --tag albert:1 . (for GPUs with
# --build-arg "TENSORFLOW=tensorflow[and-cuda]").
FROM python:${PYTHON}-slim AS training
ARG TENSORFLOW=tensorflow
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/
RUN pip install --no-cache-dir --constraint /wheels/constraints.txt \
        "${TENSORFLOW}" /wheels/*.whl
ENTRYPOINT ["albert"]

FROM apache/beam_python${PYTHON}_sdk:${BEAM}
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/
RUN pip install --no-cache-dir --constraint /wheels/constraints.txt \
        adlfs fsspec ftfy gcsfs google-crc32c numpy py3langid pyarrow s3fs sentencepiece \
        sentencex zstandard \
    && pip install --no-cache-dir --no-deps /wheels/*.whl \
    && python -c "import pipeline.job.make_data"
