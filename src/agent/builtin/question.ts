/** A prompt, prepared for the rules. */
export interface Question {
  /** The original text. */
  readonly text: string
  /** In lower case, with single spaces. */
  readonly lower: string
  /** Qualified table names in it, in order. */
  readonly tables: readonly string[]
  /** The table that earlier messages named last, for words such as "it". */
  readonly earlierTable: string | undefined
  /** Whether it is a question, not a command. */
  readonly isAsking: boolean
  readonly now: Date
}

/** Names between back ticks or quotes may have any characters; others have those of identifiers. */
const QUOTED_NAME = /[`"']([^`"'\s./\\]+(?:\.[^`"'\s./\\]+)+)[`"']/gu
const PLAIN_NAME = /(?<![\p{L}\p{N}_./\\:-])([\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)+)(?![\p{L}\p{N}_-]*[/\\:@])/gu
/** Text with a dot that is not a table name. */
const NO_TABLE = /^(e\.g|i\.e|etc\.|[\d.]+$)|\.(com|org|net|io|json|parquet|avro|csv|md)$/i
const ASKING =
  /\?\s*$|^(please )?(what|which|how|who|when|where|why|would|should|is|are|does|do|did|will|may|tell me|show|explain|describe|plan|preview|simulate|dry.?run|estimate)\b|\b(would|could) (it|that|this)\b|\bwhat (happens|would|if)\b/

/** "Could you compact it?" is a command despite the question mark. */
const POLITE = /^(please |pls )?(can|could|would|will) you (please |kindly )?/

function isAsking(lower: string): boolean {
  return POLITE.test(lower) ? ASKING.test(lower.replace(POLITE, '').replace(/[?\s]+$/, '')) : ASKING.test(lower)
}

/** Reads a prompt; `earlier` are the texts before it, newest last. */
export function readQuestion(text: string, earlier: readonly string[], now: Date): Question {
  const lower = text.toLowerCase().replaceAll(/\s+/g, ' ').trim()
  const known = earlier.flatMap(tableNames)
  return {
    text,
    lower,
    tables: tableNames(text),
    earlierTable: known.at(-1),
    isAsking: isAsking(lower),
    now,
  }
}

function tableNames(text: string): string[] {
  const names = [...text.matchAll(QUOTED_NAME), ...text.matchAll(PLAIN_NAME)].map((match) => match[1] ?? '')
  return [...new Set(names.filter((name) => !NO_TABLE.test(name)))]
}

/** The number before or after a word, such as 5 in "last 5 snapshots" or "keep 5". */
export function numberNear(lower: string, words: string): number | undefined {
  const match = new RegExp(
    `\\b(\\d{1,9}) (?:\\w+ )?(?:${words})\\b|\\b(?:${words})\\s+(?:the )?(?:last )?(\\d{1,9})\\b`,
  ).exec(lower)
  const digits = match?.[1] ?? match?.[2]
  return digits === undefined ? undefined : Number(digits)
}

const DAY_MS = 86_400_000
const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^h/, DAY_MS / 24],
  [/^d/, DAY_MS],
  [/^w/, 7 * DAY_MS],
  [/^m/, 30 * DAY_MS],
  [/^y/, 365 * DAY_MS],
]

/** The age in "older than 7 days", in ms. */
export function ageIn(lower: string): number | undefined {
  const match = /\bolder than (?:an? |(\d{1,6}) ?)(hours?|h|days?|d|weeks?|w|months?|years?)\b/.exec(lower)
  const unit = match && UNITS.find(([pattern]) => pattern.test(match[2] ?? ''))
  return unit ? Number(match[1] ?? 1) * unit[1] : undefined
}
