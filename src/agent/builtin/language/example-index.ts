import { isMisspelt } from '../../../lib/edit-distance.ts'
import type { Speech } from './speech.ts'
import { type Token, tokenize } from './tokens.ts'
import { isFiller, isTopic, KNOWN_WORDS, meaningOf } from './words.ts'

/** What a prompt can be about: a tool, or something that no tool answers. */
export interface Subject {
  readonly name: string
  readonly examples: readonly string[]
  /** Whether its examples are orders: they match only an order with the same verb. */
  readonly isOrder: boolean
}

/** The subject whose example is nearest, from 0 (nothing in common) to 1 (the same meaning). */
export interface Nearest {
  readonly name: string
  readonly score: number
}

interface Example {
  readonly subject: Subject
  readonly verb: string
  readonly features: readonly string[]
  readonly weight: number
}

/** Compares prompts with the examples of all subjects. */
export interface ExampleIndex {
  /** Subjects with the score of their nearest example, nearest first. */
  rank(tokens: readonly Token[], speech: Speech): readonly Nearest[]
  /** Whether a prompt names something of this service, and not only words of any subject. */
  hasTopic(tokens: readonly Token[]): boolean
  /** Whether a lower-case word is one of the examples or of the assistant. */
  knows(word: string): boolean
}

/** Weights of values: a table says more about a prompt than a number. Words weigh more the fewer subjects use them. */
const SLOT_WEIGHTS: Readonly<Record<string, number>> = {
  '{table}': 1.2,
  '{pipeline}': 2.5,
  '{definition}': 1.2,
  '{version}': 1.2,
  '{environment}': 1.5,
  '{count}': 0.3,
  '{time}': 0.3,
  '{column}': 0.6,
  '{type}': 1,
  '{checkpoint}': 1,
  '{id}': 0.3,
}
/** Values that name something of this service. */
const NAMING = new Set(['{table}', '{pipeline}', '{definition}', '{version}', '{environment}', '{id}'])
/** Slots for names, which a word that the assistant does not know may fill. */
const NAME_SLOTS = ['{table}', '{definition}', '{column}']
/** A word that fills no slot is about something else. */
const UNKNOWN_WEIGHT = 2
const POINTERS = new Set(['it', 'its', 'this', 'that', 'them', 'they'])

/** Shares of an example that the prompt has, of the prompt that the example has, and of the prompt that the subject has. */
const SHARES = { example: 0.45, prompt: 0.3, subject: 0.25 }

/** Builds the index. Equal scores keep the order of the subjects. */
export function createExampleIndex(subjects: readonly Subject[]): ExampleIndex {
  const vocabulary = new Set(KNOWN_WORDS)
  const used = new Map<string, Set<string>>()
  const raw = subjects.flatMap((subject) =>
    subject.examples.map((text) => {
      const tokens = tokenize(text)
      for (const { lower, slot } of tokens) if (slot === undefined) vocabulary.add(lower)
      const features = [...new Set(tokens.flatMap(featureOf))]
      for (const feature of features) {
        const names = used.get(feature) ?? new Set()
        used.set(feature, names.add(subject.name))
      }
      return { subject, verb: meaningOf(tokens[0]?.lower ?? ''), features }
    }),
  )
  const weigh = (feature: string): number =>
    SLOT_WEIGHTS[feature] ?? Math.log(1 + subjects.length / (used.get(feature)?.size ?? subjects.length))
  const examples: readonly Example[] = raw.map((one) => ({ ...one, weight: total(one.features, weigh) }))
  const meanings = new Set([...vocabulary].map(meaningOf))
  const knows = (word: string): boolean => vocabulary.has(word) || meanings.has(meaningOf(word))
  const correct = createCorrection([...vocabulary], knows)
  return {
    knows,
    hasTopic: (tokens) => tokens.map(correct).some(({ lower, slot }) => NAMING.has(slot ?? '') || isTopic(lower)),
    rank(tokens, speech) {
      const prompt = readPrompt(tokens.map(correct), knows)
      const best = new Map<string, number>()
      const ofSubject = new Map<string, number>()
      const weight = total(prompt.features, weigh)
      const whole = weight + prompt.unknown * UNKNOWN_WEIGHT
      const verb = speech.kind === 'order' ? meaningOf(correct(tokenOf(speech.verb)).lower) : undefined
      for (const example of examples) {
        const { subject } = example
        if (subject.isOrder && (verb === undefined || verb !== example.verb)) continue
        const { common, filled } = shared(example, prompt, weigh)
        if (common === 0) continue
        if (!ofSubject.has(subject.name)) {
          const words = prompt.features.filter((feature) => used.get(feature)?.has(subject.name))
          ofSubject.set(subject.name, total(words, weigh) / whole)
        }
        const score =
          (SHARES.example * common) / example.weight +
          SHARES.prompt * Math.min(1, common / (weight + filled + (prompt.unknown - filled) * UNKNOWN_WEIGHT)) +
          SHARES.subject * (ofSubject.get(subject.name) ?? 0)
        best.set(subject.name, Math.max(best.get(subject.name) ?? 0, score))
      }
      return [...best].map(([name, score]) => ({ name, score })).toSorted((a, b) => b.score - a.score)
    },
  }
}

function tokenOf(lower: string): Token {
  return { raw: lower, lower, slot: undefined }
}

interface Prompt {
  readonly features: readonly string[]
  /** Number of words that are in no example: names, or something else altogether. */
  readonly unknown: number
  readonly hasPointer: boolean
}

function readPrompt(tokens: readonly Token[], knows: (word: string) => boolean): Prompt {
  const isUnknown = ({ lower, slot }: Token): boolean => slot === undefined && !knows(lower)
  const meanings = tokens.filter((token) => !isUnknown(token)).flatMap(featureOf)
  return {
    features: [...new Set(meanings)],
    unknown: new Set(tokens.filter(isUnknown).map(({ lower }) => lower)).size,
    hasPointer: tokens.some(({ lower }) => POINTERS.has(lower)),
  }
}

function featureOf({ lower, slot }: Token): readonly string[] {
  if (slot !== undefined) return [slot]
  return isFiller(lower) ? [] : [meaningOf(lower)]
}

/**
 * The weight of what an example and a prompt share, 0 when that is no word and no value. Unknown words and pointers fill slots
 * that the prompt lacks; `filled` is the number of these words.
 */
function shared({ features }: Example, prompt: Prompt, weigh: (feature: string) => number): Shared {
  const both = features.filter((feature) => prompt.features.includes(feature))
  if (both.length === 0) return { common: 0, filled: 0 }
  const open = features.filter((feature) => feature.startsWith('{') && !both.includes(feature))
  const names = open.filter((feature) => NAME_SLOTS.includes(feature)).slice(0, prompt.unknown)
  const pointed = open.filter((feature) => !names.includes(feature)).slice(0, prompt.hasPointer ? 1 : 0)
  const common = total(both, weigh) + 0.8 * total(names, weigh) + 0.5 * total(pointed, weigh)
  return { common, filled: names.length }
}

interface Shared {
  readonly common: number
  readonly filled: number
}

/** Replaces a word that is almost a known one. A word with digits or `_` is a name, not a typing error. */
function createCorrection(vocabulary: readonly string[], knows: (word: string) => boolean): (token: Token) => Token {
  const words = vocabulary.filter((word) => word.length > 3 && !isFiller(word))
  return (token) => {
    const { lower, slot } = token
    if (slot !== undefined || knows(lower) || !/^\p{L}{5,30}$/u.test(lower)) return token
    const intended = words.find((word) => isMisspelt(lower, word))
    return intended === undefined ? token : tokenOf(intended)
  }
}

function total(features: readonly string[], weigh: (feature: string) => number): number {
  return features.reduce((sum, feature) => sum + weigh(feature), 0)
}
