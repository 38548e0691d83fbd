import { RUN_ENVIRONMENTS } from '../../../domain/environments.ts'
import { isMisspelt } from '../../../lib/edit-distance.ts'
import { lastOf, type Next, type Reader } from '../ability.ts'
import type { JsonView } from '../json-view.ts'
import { bullets, problem, quoted } from '../text.ts'
import { environmentNamed, numberNamed, tokenize } from '../language/tokens.ts'
import type { Question } from '../question.ts'
import { DID_YOU_MEAN, WHICH } from './follow-up.ts'

/** Reads `definition_id`: an id, a name, the earlier one, or the only one. */
export const readDefinition: Reader = (question, seen) => {
  const id = question.tokens.find(({ slot }) => slot === '{definition}')?.lower
  if (id !== undefined) return { args: { definition_id: id } }
  const listed = lastOf(seen, 'list_definitions')
  if (listed === undefined) return { next: { calls: [{ tool: 'list_definitions', args: {} }] } }
  if (listed.error !== undefined) return { next: { say: `I cannot list the definitions: ${problem(listed.error)}` } }
  const all = listed.data.at('definitions').list()
  const named = definitionsNamed(question, all)
  const isNaming = named.length > 0 || question.unknownWords.length > 0
  const found = isNaming ? onlyId(named) : (question.earlier.definition ?? onlyId(all))
  if (found !== undefined) return { args: { definition_id: found } }
  return { next: askDefinition(question, named.length > 0 ? named : all) }
}

function onlyId([only, other]: readonly JsonView[]): string | undefined {
  return other === undefined ? only?.at('id').text() : undefined
}

function askDefinition({ unknownWords }: Question, all: readonly JsonView[]): Next {
  if (all.length === 0) return { say: 'There are no pipeline definitions.' }
  const near = all.filter((one) => unknownWords.some((word) => isMisspelt(word.toLowerCase(), nameOf(one))))
  const shown = near.length > 0 ? near : all
  const lines = shown.map((one) => `${quoted(one.at('name').text())} (${one.at('id').text()})`)
  const offer = near.length > 0 ? DID_YOU_MEAN : 'These exist'
  return { say: `${WHICH} definition do you mean? ${offer}:\n\n${bullets(lines)}` }
}

function nameOf(definition: JsonView): string {
  return definition.at('name').text().toLowerCase()
}

/**
 * Definitions whose name is in the text, without those that are only part of a longer one there: `sales` in `sales daily`.
 * A name counts only with a word that has no other meaning: `to production` names an environment.
 */
function definitionsNamed({ lower, unknownWords }: Question, all: readonly JsonView[]): readonly JsonView[] {
  const text = plain(lower)
  const own = plain(unknownWords.join(' ').toLowerCase()).split(' ')
  const named = all.flatMap((one) => {
    const name = plain(nameOf(one))
    const hasOwn = name.split(' ').some((word) => word !== '' && own.includes(word))
    const at = hasOwn ? placesOf(name, text) : []
    return at.length === 0 ? [] : [{ one, name, at, end: name.length }]
  })
  const isPart = (from: number, end: number, name: string): boolean =>
    named.some(
      (other) =>
        other.end > name.length &&
        !tokenize(other.name).some(({ slot }) => slot === '{environment}') &&
        other.at.some((start) => start <= from && from + end <= start + other.end),
    )
  return named.filter(({ name, at, end }) => !at.every((from) => isPart(from, end, name))).map(({ one }) => one)
}

/** Where a name stands in a text, both with single spaces between words. */
function placesOf(name: string, text: string): readonly number[] {
  const words = ` ${text} `
  const places: number[] = []
  for (let at = words.indexOf(` ${name} `); at >= 0; at = words.indexOf(` ${name} `, at + 1)) places.push(at)
  return places
}

function plain(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim()
}

/** Reads `version_id`: an id, a number, or the newest version. */
export const readVersion: Reader = (question, seen, args) => {
  const id = question.tokens.find(({ slot }) => slot === '{version}')?.lower
  if (id !== undefined) return { args: { version_id: id } }
  const versions = listVersions(seen, args)
  if ('next' in versions) return versions
  const [wanted] = versionsNamed(question, versions.list)
  const found = wanted ?? (numbersIn(question).length === 0 ? versions.list[0] : undefined)
  return found === undefined ? askVersion(versions.list) : { args: { version_id: found.at('id').text() } }
}

/** Reads `from_version_id` and `to_version_id`: two named versions, one and the newest, or the two newest. */
export const readTwoVersions: Reader = (question, seen, args) => {
  const versions = listVersions(seen, args)
  if ('next' in versions) return versions
  const named = versionsNamed(question, versions.list)
  const [newest, before] = versions.list
  const [from, to] = named.length === 0 ? [before, newest] : [named[0], named[1] ?? newest]
  if (from === undefined || to === undefined || named.length < numbersIn(question).length)
    return askVersion(versions.list)
  return { args: { from_version_id: from.at('id').text(), to_version_id: to.at('id').text() } }
}

function listVersions(
  seen: Parameters<Reader>[1],
  { definition_id }: Parameters<Reader>[2],
): { readonly list: readonly JsonView[] } | Extract<ReturnType<Reader>, { readonly next: unknown }> {
  const listed = lastOf(seen, 'list_versions')
  if (listed === undefined) return { next: { calls: [{ tool: 'list_versions', args: { definition_id } }] } }
  if (listed.error !== undefined) return { next: { say: `I cannot list the versions: ${problem(listed.error)}` } }
  return { list: listed.data.at('versions').list() }
}

/** Versions by their ids, numbers or environments, in the order of the question. */
function versionsNamed({ tokens }: Question, all: readonly JsonView[]): readonly JsonView[] {
  const found = tokens.map((token) =>
    all.find((one) => {
      if (token.slot === '{version}') return one.at('id').text() === token.lower
      if (token.slot === '{environment}') return one.at('environment').text() === environmentNamed(token)
      return token.slot === '{count}' && one.at('version').number() === numberNamed(token)
    }),
  )
  return [...new Set(found.filter((one) => one !== undefined))]
}

function numbersIn({ tokens }: Question): readonly number[] {
  return tokens.flatMap((token) => (token.slot === '{count}' ? [numberNamed(token) ?? 0] : []))
}

function askVersion(all: readonly JsonView[]): Extract<ReturnType<Reader>, { readonly next: unknown }> {
  const lines = all.map((one) => `version ${one.at('version').text()} in ${one.at('environment').text()}`)
  return { next: { say: `${WHICH} version do you mean? These exist:\n\n${bullets(lines)}` } }
}

/** Reads `environment`, and asks when the question names none. */
export const readEnvironment: Reader = (question, seen, args) => {
  const reading = readNamedEnvironment(question, seen, args)
  if ('next' in reading || reading.args['environment'] !== undefined) return reading
  return { next: { say: `${WHICH} environment do you mean? These exist:\n\n${bullets(RUN_ENVIRONMENTS.map(quoted))}` } }
}

/** Reads `environment` when the question names one. */
export const readNamedEnvironment: Reader = ({ tokens }) => {
  const named = tokens.map(environmentNamed).find((name) => name !== undefined)
  return { args: named === undefined ? {} : { environment: named } }
}
