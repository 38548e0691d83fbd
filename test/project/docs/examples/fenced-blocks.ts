import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const REPOSITORY = join(import.meta.dirname, '../../../..')

/** An example in a document, between two fences. */
export interface FencedBlock {
  /** The word behind the fence; empty when there is none. */
  readonly language: string
  /** Line of the fence that opens it. */
  readonly line: number
  readonly text: string
  /** The paragraph above it. */
  readonly introduction: string
}

/** README.md and every document below `docs`, with its examples. */
export function documentsWithExamples(): readonly (readonly [
  document: string,
  blocks: readonly FencedBlock[],
  text: string,
])[] {
  const names = ['README.md', ...globSync('docs/**/*.md', { cwd: REPOSITORY }).toSorted()]
  return names
    .map((name) => [name, readFileSync(join(REPOSITORY, name), 'utf8')] as const)
    .map(([name, text]) => [name, fencedBlocks(text), text] as const)
    .filter(([, blocks]) => blocks.length > 0)
}

function fencedBlocks(document: string): readonly FencedBlock[] {
  const fences = /^( *)(`{3,}|~{3,})(.*)\n([^]*?)^\1\2 *$/gm
  return [...document.matchAll(fences)].map((match) => {
    const [, indent = '', , info = '', text = ''] = match
    const before = document.slice(0, match.index)
    return {
      language: info.trim(),
      line: before.split('\n').length,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      introduction:
        before
          .trimEnd()
          .split(/\n\s*\n/)
          .at(-1) ?? '',
    }
  })
}

/** The commands of a shell example: lines that `\` or an open quote continues are one command. */
export function commandsOf(text: string): readonly string[] {
  const commands: string[] = []
  let open = ''
  for (const line of text.split('\n')) {
    open = open === '' ? line : `${open}\n${line}`
    const words = open.replace(/ {2,}#[^\n]*$/, '')
    const isOpen = words.endsWith('\\') || words.split("'").length % 2 === 0
    if (isOpen || open.trim() === '') continue
    commands.push(open)
    open = ''
  }
  if (open.trim() !== '') commands.push(open)
  return commands
}
