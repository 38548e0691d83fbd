import { ENVIRONMENTS } from '../../../domain/environments.ts'

const SLOTS = [
  ...(['{table}', '{pipeline}', '{definition}', '{version}', '{id}', '{environment}'] as const),
  ...(['{count}', '{time}', '{column}', '{type}', '{checkpoint}'] as const),
] as const

/** What stands for a value in an example, and for the same value in a prompt. */
export type Slot = (typeof SLOTS)[number]

/** A word of a prompt, or a value in it. */
export interface Token {
  /** As written, without quotes and punctuation. */
  readonly raw: string
  /** In lower case, without apostrophes. */
  readonly lower: string
  /** What the value is; undefined for a word. */
  readonly slot: Slot | undefined
}

/** Names between back ticks or quotes may have any characters; others have those of identifiers. */
const QUOTED_NAME = /[`"']([^`"'\s./\\]+(?:\.[^`"'\s./\\]+)+)[`"']/gu
const PLAIN_NAME =
  // The lookahead with its back reference reads a name once, whatever follows it.
  /(?<![\p{L}\p{N}_./\\:-])(?=([\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)+))\1(?![/\\@]|:\S)/gu
/** Text with a dot that is not a table name. */
const NO_TABLE = /^(e\.g|i\.e|etc\.|[\d.]+$)|\.(com|org|net|io|json|parquet|avro|csv|md)$/i

/** Qualified table names in a text, in order, each once. */
export function tableNames(text: string): readonly string[] {
  const names = [...text.matchAll(QUOTED_NAME), ...text.matchAll(PLAIN_NAME)]
    .toSorted((a, b) => a.index - b.index)
    .map((match) => match[1] ?? '')
  return [...new Set(names.filter((name) => !NO_TABLE.test(name)))]
}

const ENVIRONMENT_NAMES: ReadonlyMap<string, string> = new Map([
  ...ENVIRONMENTS.map((name) => [name, name] as const),
  ['prod', 'production'],
  ['dev', 'development'],
])

const TYPES = new Set(
  'boolean int integer long bigint float double decimal string text timestamp timestamptz uuid binary date'.split(' '),
)

const UNIT_DAYS: ReadonlyMap<string, number> = new Map(
  (
    [
      [1 / 24, 'h hour hours'],
      [1, 'd day days'],
      [7, 'w week weeks'],
      [30, 'month months'],
      [365, 'y year years'],
    ] as const
  ).flatMap(([days, words]) => words.split(' ').map((word) => [word, days] as const)),
)

const SHORT_UNITS = new Set('ms s sec second seconds m min minute minutes h hour hours'.split(' '))
const NUMBER_WORDS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
const ID_SLOTS: Readonly<Record<string, Slot>> = { pipe: '{pipeline}', def: '{definition}', ver: '{version}' }
const ID = /^([a-z]{2,5})-[0-9a-z]{8,}$/

const SEPARATORS = /[\s,;:!?()[\]<>"“”„«»`*~|…—–，。、；：！？（）؟،؛]+/u

/** Splits a text into words and values. */
export function tokenize(text: string): readonly Token[] {
  const tables = new Set(tableNames(text))
  const parts = text.split(SEPARATORS).map((part) => part.replace(/^['‘’.]+|['‘’.]+$/gu, ''))
  return parts
    .filter((part) => part !== '')
    .flatMap((raw) => {
      const lower = raw.toLowerCase().replaceAll(/['‘’ʼ´]/gu, '')
      const version = /^v(?:er\.?)?(\d{1,6})$/.exec(lower)?.[1]
      return version === undefined
        ? [{ raw, lower, slot: tables.has(raw) ? ('{table}' as const) : slotOf(raw, lower) }]
        : [
            { raw: 'version', lower: 'version', slot: undefined },
            { raw: version, lower: version, slot: '{count}' as const },
          ]
    })
}

function slotOf(raw: string, lower: string): Slot | undefined {
  if (raw.startsWith('{') && raw.endsWith('}')) return SLOTS.find((slot) => slot === lower)
  const id = ID.exec(lower)
  if (id && /\d/.test(lower)) return ID_SLOTS[id[1] ?? ''] ?? '{id}'
  if (ENVIRONMENT_NAMES.has(lower)) return '{environment}'
  if (/^\d{1,15}$/.test(lower)) return '{count}'
  if (/^\d{4}-\d\d-\d\d/.test(lower)) return '{time}'
  if (raw.includes('/')) return '{checkpoint}'
  return TYPES.has(lower) ? '{type}' : undefined
}

/** The environment that a token names. */
export function environmentNamed({ lower }: Token): string | undefined {
  return ENVIRONMENT_NAMES.get(lower)
}

/** The number that a token is, in digits or as a word up to twelve. */
export function numberNamed(token: Token | undefined): number | undefined {
  if (token === undefined) return undefined
  if (/^\d{1,9}$/.test(token.lower)) return Number(token.lower)
  const at = NUMBER_WORDS.indexOf(token.lower)
  return at < 0 ? undefined : at
}

/** The first age in a text, such as `2 weeks` or `a month`, in days. */
export function ageInDays(tokens: readonly Token[]): number | undefined {
  for (const [at, token] of tokens.entries()) {
    const joined = /^(\d{1,6})([a-z]+)$/.exec(token.lower)
    const unit = UNIT_DAYS.get(joined?.[2] ?? token.lower)
    if (unit === undefined) continue
    const before = tokens[at - 1]
    const amount = joined ? Number(joined[1]) : isArticle(before) ? 1 : numberNamed(before)
    if (amount !== undefined) return amount * unit
  }
  return undefined
}

function isArticle(token: Token | undefined): boolean {
  return token?.lower === 'a' || token?.lower === 'an' || token?.lower === 'last'
}

/** The day in a text, such as `2026-11-01`. */
export function dayNamed(tokens: readonly Token[]): string | undefined {
  return tokens.find(({ slot }) => slot === '{time}')?.lower.slice(0, 10)
}

/** A number of snapshots to keep: the number after one of the words, unless it is an age. */
export function numberAfter(tokens: readonly Token[], words: readonly string[]): number | undefined {
  const at = tokens.findIndex(({ lower }) => words.includes(lower))
  if (at < 0) return undefined
  const found = tokens.slice(at + 1, at + 6).find((token) => numberNamed(token) !== undefined)
  const unit = found && tokens[tokens.indexOf(found) + 1]
  return unit !== undefined && UNIT_DAYS.has(unit.lower) ? undefined : numberNamed(found)
}

/** An interval after `every`, such as `5 seconds`. */
export function intervalNamed(tokens: readonly Token[]): string | undefined {
  const at = tokens.findIndex(({ lower }) => lower === 'every')
  const [first, second] = tokens.slice(at + 1, at + 3)
  if (at < 0 || first === undefined) return undefined
  const joined = /^(\d+)([a-z]+)$/.exec(first.lower)
  if (joined && SHORT_UNITS.has(joined[2] ?? '')) return `${joined[1]} ${joined[2]}`
  if (SHORT_UNITS.has(first.lower)) return `1 ${first.lower}`
  const amount = numberNamed(first)
  return amount !== undefined && second !== undefined && SHORT_UNITS.has(second.lower)
    ? `${amount} ${second.lower}`
    : undefined
}
