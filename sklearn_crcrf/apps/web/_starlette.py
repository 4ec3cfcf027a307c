"""The packages that this room needs, with a clear message if they are missing."""

try:
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError(
        "Pages in a browser need the packages starlette and uvicorn: "
        'pip install "sklearn-crcrf[web]"'
    ) from error
