// Checks that what comments and documents refer to exists: documents, their headings, and files of this repository.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execFileSync } from 'node:child_process'

const root = join(import.meta.dirname, '..', '..')
const CHECKED = /\.(ts|tsx|js|mjs|sh|md|ya?ml|css)$/
const DOCUMENT = /(?<![\w/.-])((?:docs|bench)\/[\w./-]+\.md|[A-Z]+\.md)(?:#([\w-]+))?/g
const LINK = /\]\(([^)\s]+)\)/g
const SOURCE = /`((?:src|test|scripts|bench|frontend|deploy)\/[\w./-]+)`/g
/** Created by `npm run build`, not in the repository. */
const BUILT = 'frontend/dist'
/** References to documents that are not public. */
const UNPUBLISHED = /\bcontract, section|\bspec(?:ification)?, sections? \d|\btraps? \d|\.\.\/shared\/(?!fixtures)/i

/**
 * The broken references of a text, as `line: problem`. `path` is the text's own path; `read` returns the text
 * of a file of the repository, '' for a folder, undefined when there is none. All paths are relative to the repository.
 */
export function brokenReferences(path: string, text: string, read: (path: string) => string | undefined): string[] {
  return text.split('\n').flatMap((line, index) => {
    const problems = referencesIn(path, line).flatMap((reference) => problemOf(reference, read))
    return [...unpublishedIn(line), ...problems].map((problem) => `${index + 1}: ${problem}`)
  })
}

function unpublishedIn(line: string): readonly string[] {
  const found = UNPUBLISHED.exec(line)
  return found ? [`"${found[0]}" refers to a document that is not in this repository`] : []
}

interface Reference {
  /** Relative to the repository. */
  readonly target: string
  readonly anchor?: string | undefined
}

function referencesIn(path: string, line: string): readonly Reference[] {
  const documents = [...line.matchAll(DOCUMENT)].map(([, target = '', anchor]): Reference => ({ target, anchor }))
  if (!path.endsWith('.md')) return documents
  const sources = [...line.matchAll(SOURCE)].map(([, target = '']) => target)
  const links = [...line.matchAll(LINK)].map(([, link = '']) => link)
  return [
    ...documents.filter(({ target }) => !line.includes(`](${target}`)),
    ...sources.filter((target) => !target.startsWith(BUILT)).map((target) => ({ target: target.replace(/\/$/, '') })),
    ...links.filter((link) => !/^[a-z]+:/.test(link)).map((link) => linkTarget(path, link)),
  ]
}

function linkTarget(path: string, link: string): Reference {
  const [file = '', anchor] = link.split('#')
  return { target: file === '' ? path : join(dirname(path), file), anchor }
}

function problemOf({ target, anchor }: Reference, read: (path: string) => string | undefined): readonly string[] {
  const found = read(target)
  if (found === undefined) return [`there is no ${target}`]
  return anchor === undefined || headings(found).has(anchor) ? [] : [`${target} has no heading #${anchor}`]
}

/** Anchors of the headings of a Markdown text, in the form that GitHub uses. */
function headings(text: string): ReadonlySet<string> {
  const found = [...text.matchAll(/^#+ +(.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set(found)
}

function readFromRepository(path: string): string | undefined {
  const absolute = join(root, path)
  if (!existsSync(absolute)) return undefined
  return path.endsWith('.md') ? readFileSync(absolute, 'utf8') : ''
}

if (import.meta.main) {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n')
  const own = ['scripts/checks/check-references.ts', 'test/project/docs/check-references.test.ts']
  const problems = files
    .filter((path) => CHECKED.test(path) && !own.includes(path) && existsSync(join(root, path)))
    .flatMap((path) =>
      brokenReferences(path, readFileSync(join(root, path), 'utf8'), readFromRepository).map(
        (problem) => `${path}:${problem}`,
      ),
    )
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exit(1)
}
