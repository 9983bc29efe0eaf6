"""The one source of the SDK's behaviour; ``harena._sync`` is generated from it by ``tools/unasync.py``."""
