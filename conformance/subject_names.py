"""From the name of a subject on a command line to the subject."""

import importlib
import sys
from pathlib import Path

from .engines import vllm as vllm_engine
from .own import subject_of_factory
from .subjects import Subject, SubjectUnavailable, reference
from .torch_subject import DEVICE, NAME, torch_subject


def subject_named(name: str) -> Subject:
    """The subject ``reference``, ``impl``, ``impl@DEVICE``, ``vllm`` or ``module:factory``.

    Raises ``SubjectUnavailable`` with what to do when there is no such subject, or it cannot be made here.
    """
    if name == "reference":
        return reference()
    if name == "vllm":
        return vllm_engine.vllm()
    kind, _, device = name.partition(DEVICE)
    if kind == NAME:
        if name != NAME and not device:
            raise SubjectUnavailable(f"{name!r} names no device: take `{NAME}{DEVICE}cpu`, or `{NAME}` alone")
        return torch_subject(device or "cpu")
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise SubjectUnavailable(
            f"there is no subject {name!r}: take `reference`, `impl`, `vllm`, or `module:factory` for yours"
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        factory = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:
        raise SubjectUnavailable(
            f"{name!r} cannot be imported ({type(error).__name__}: {error}): run from the folder that has "
            f"{module_name}, or install it"
        ) from error
    return subject_of_factory(name, factory)
