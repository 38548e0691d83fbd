import { parseTypeText } from '../../src/iceberg/schema/type-text.ts'
import type { PrimitiveType, Value } from '../../src/iceberg/schema/types.ts'

const INT_MIN = -(2 ** 31)
const INT_MAX = 2 ** 31 - 1
const LONG_MIN = -(2n ** 63n)
const LONG_MAX = 2n ** 63n - 1n
const FLOAT_MAX = 3.4028234663852886e38
const FLOAT_MIN = 1.401298464324817e-45

const ints = [INT_MIN, INT_MIN + 1, -1, 0, 1, INT_MAX - 1, INT_MAX]
const longs = [LONG_MIN, LONG_MIN + 1n, -1n, 0n, 1n, 9007199254740993n, LONG_MAX - 1n, LONG_MAX]

/** The engine refuses timestamps at its own least day; the two greatest and the negative of the greatest it can hold. */
const timestamps = [LONG_MIN + 1n, -9223372022400000000n, -1n, 0n, 1n, LONG_MAX - 1n, LONG_MAX]

/** Values at the ends and corners of every type that the engine writes, by type text. */
export const EDGE_VALUES: Readonly<Record<string, readonly Value[]>> = {
  boolean: [false, true],
  int: ints,
  long: longs,
  float: [-Infinity, -FLOAT_MAX, -FLOAT_MIN, -0, 0, FLOAT_MIN, 0.10000000149011612, FLOAT_MAX, Infinity, Number.NaN],
  double: [
    -Infinity,
    -Number.MAX_VALUE,
    -Number.MIN_VALUE,
    -0,
    0,
    5,
    Number.MIN_VALUE,
    0.1,
    Number.MAX_VALUE,
    Infinity,
    Number.NaN,
  ],
  date: ints,
  time: [0n, 1n, 86_399_999_999n],
  timestamp: timestamps,
  timestamptz: timestamps,
  timestamp_ns: [LONG_MIN + 1n, -9223286400000000000n, -1n, 0n, 1n, LONG_MAX - 1n, LONG_MAX],
  string: ['', '\0', "'", 'a\0b', '\u{10ffff}', '\ud7ff', '\uffff', 'x'.repeat(40), '-0', 'NULL', 'infinity', ' '],
  uuid: [
    '00000000-0000-0000-0000-000000000000',
    '7fffffff-ffff-ffff-ffff-ffffffffffff',
    '80000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
  ],
  binary: [new Uint8Array(), new Uint8Array([0]), new Uint8Array([0xff, 0xff]), new Uint8Array(40).fill(0xff)],
  'decimal(1,0)': [-9n, 0n, 9n],
  'decimal(4,4)': [-9999n, 0n, 9999n],
  'decimal(9,2)': [-999_999_999n, -1n, 999_999_999n],
  'decimal(18,0)': [-(10n ** 18n - 1n), 10n ** 18n - 1n],
  'decimal(19,10)': [-(10n ** 19n - 1n), 10n ** 19n - 1n],
  'decimal(38,0)': [-(10n ** 38n - 1n), -1n, 0n, 10n ** 38n - 1n],
  'decimal(38,38)': [-(10n ** 38n - 1n), 1n, 10n ** 38n - 1n],
}

/** The same as a list of type and values. */
export const edgeTypes = Object.entries(EDGE_VALUES).map(
  ([text, values]) => [text, parseTypeText(text) as PrimitiveType, values] as const,
)
