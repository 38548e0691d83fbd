import type { ExampleIndex } from './language/example-index.ts'
import { readSpeech, type Speech } from './language/speech.ts'
import { tableNames, type Token, tokenize } from './language/tokens.ts'
import { isFiller, meaningOf } from './language/words.ts'

/** A prompt with what it names. */
export interface Question {
  readonly text: string
  readonly lower: string
  readonly tokens: readonly Token[]
  readonly speech: Speech
  /** Qualified table names in it, in order. */
  readonly tables: readonly string[]
  /** Words that may be names, because the assistant does not know them. */
  readonly unknownWords: readonly string[]
  readonly earlier: Earlier
  readonly now: Date
  /** Whether it has a word with the same meaning. */
  has(...words: readonly string[]): boolean
}

/** What earlier messages named last, for words such as `it`. */
export interface Earlier {
  readonly table: string | undefined
  readonly pipeline: string | undefined
  readonly definition: string | undefined
}

/** A prompt and its conversation. */
export interface Asked {
  readonly text: string
  readonly earlier: Earlier
  readonly now: Date
}

/** Reads a prompt. */
export function readQuestion({ text, earlier, now }: Asked, index: Pick<ExampleIndex, 'knows'>): Question {
  const tokens = tokenize(text)
  const speech = readSpeech(text)
  const meanings = new Set(tokens.flatMap(({ lower, slot }) => (slot === undefined ? [meaningOf(lower)] : [])))
  const unknown = tokens.filter(({ lower, slot }) => slot === undefined && !isFiller(lower) && !index.knows(lower))
  return {
    text,
    lower: text.toLowerCase().replaceAll(/\s+/g, ' ').trim(),
    tokens,
    speech,
    tables: tableNames(text),
    unknownWords: [...new Set(unknown.map(({ raw }) => raw))],
    earlier,
    now,
    has: (...words) => words.some((word) => meanings.has(meaningOf(word))),
  }
}
