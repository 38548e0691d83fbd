"""Rows as JSON that compares exactly: every value of every type has one text, so equal tables give equal hashes."""

import datetime
import decimal
import hashlib
import json
import math
import struct
import uuid

EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=datetime.timezone.utc)
MICROSECOND = datetime.timedelta(microseconds=1)


def canonical(value):
    """A JSON value that identifies `value` exactly; floats by their bits, so that NaN equals NaN and -0.0 is not 0.0."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else "f:" + struct.pack(">d", value).hex()
    if isinstance(value, decimal.Decimal):
        return "d:" + format(value, "f")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "x:" + bytes(value).hex()
    if isinstance(value, uuid.UUID):
        return "u:" + str(value)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return f"ts:{(value - EPOCH) // MICROSECOND}"
        return f"tz:{(value - EPOCH_UTC) // MICROSECOND}"
    if isinstance(value, datetime.date):
        return f"date:{value.isoformat()}"
    if isinstance(value, datetime.time):
        return f"time:{value.isoformat()}"
    if hasattr(value, "asDict"):
        return {name: canonical(item) for name, item in zip(value.__fields__, value)}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: canonical(item) for key, item in value.items()}
        return pairs(value.items())
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    raise TypeError(f"no canonical form for {type(value)}")


def pairs(items):
    """Entries of a map, in one order."""
    return sorted(([canonical(key), canonical(item)] for key, item in items), key=text)


def text(value):
    """Compact JSON with sorted keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def summarize(rows, keep=20_000):
    """Count and hash of rows (any order), and the rows themselves, sorted, unless there are too many."""
    lines = sorted(text(canonical(row)) for row in rows)
    digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
    result = {"count": len(lines), "hash": digest}
    if len(lines) <= keep:
        result["rows"] = [json.loads(line) for line in lines]
    return result


def plain(value):
    """JSON for metadata tables: numbers beyond 2^53 and times as text, bytes as hex."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "asDict"):
        return [plain(item) for item in value]
    if hasattr(value, "asDict"):
        return {name: plain(item) for name, item in zip(value.__fields__, value)}
    if isinstance(value, datetime.datetime):
        zoned = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        return (zoned - EPOCH_UTC) // datetime.timedelta(milliseconds=1)
    return canonical(value)
