#!/usr/bin/env bash
# Makes an environment in which vLLM's KV cache manager and scheduler import, and installs this checkout in it.
#
#   scripts/vllm_env.sh FOLDER [VERSION]
#
# vLLM is built for the "empty" device, which compiles nothing: its manager is Python, and no model runs here.
# The engine's own requirements name far more than the manager imports, so it is installed without them and
# what the imports need is listed below; pip's complaints about what is missing or newer are expected.
# Takes a few minutes and about 3 GB.
set -euo pipefail

folder=${1:?usage: scripts/vllm_env.sh FOLDER [VERSION]}
version=${2:-0.28.0}
cd "$(dirname "$0")/.."

"${PYTHON:-python3.11}" -m venv --clear "$folder"
pip=("$folder/bin/python" -m pip --quiet --disable-pip-version-check)

echo "vLLM $version: what its build and its tensors need"
"${pip[@]}" install torch==2.13.0 numpy jinja2 packaging \
  setuptools setuptools-scm setuptools-rust wheel ninja cmake

echo "vLLM $version: itself, from source"
VLLM_TARGET_DEVICE=empty VLLM_VERSION_OVERRIDE="$version" \
  "${pip[@]}" install --no-deps --no-binary vllm --no-build-isolation "vllm==$version"

echo "vLLM $version: what its modules import on the way to the manager"
"${pip[@]}" install \
  aiohttp anthropic blake3 cachetools cbor2 cloudpickle compressed-tensors==0.17.0 depyf==0.20.0 einops fastapi \
  gguf huggingface_hub ijson jsonschema lark llguidance lm-format-enforcer mcp mistral_common msgspec openai \
  openai-harmony opencv-python-headless opentelemetry-api outlines_core==0.2.14 partial-json-parser pillow \
  prometheus_client protobuf psutil py-cpuinfo pybase64 pydantic python-json-logger pyyaml pyzmq regex requests \
  safetensors sentencepiece setproctitle tblib tiktoken tokenizers tqdm transformers uvloop watchfiles xgrammar

echo "pagedkv, from this checkout"
"${pip[@]}" install --editable '.[check]'

"$folder/bin/python" -c "import vllm.v1.core.kv_cache_manager, vllm.v1.core.sched.scheduler, pagedkv"
echo "vLLM $version is ready in $folder"
