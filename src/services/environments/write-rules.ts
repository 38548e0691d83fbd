import type { Catalog } from '../../catalog/catalog.ts'
import { loadIfPresent } from '../../catalog/load-if-present.ts'
import { otherNamesOf } from '../../catalog/ownership/other-names.ts'
import { formatIdentifier, parseIdentifier } from '../../catalog/table-identifier.ts'
import { minRoleIn, type RunEnvironment } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Caller, hasRole } from '../../domain/roles.ts'
import { matchesGlob } from '../../domain/tables/table-globs.ts'
import type { EnvironmentView } from '../../schemas/environments.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

/** A table that something is about to write. */
export interface WrittenTable {
  readonly catalog: Catalog
  /** A name of the table, which need not exist yet. */
  readonly table: string
}

type WriteRules = Pick<EnvironmentView, 'environment' | 'writes'>

/** Environments whose listed tables are closed to pipelines without a version. */
const PROTECTED: readonly RunEnvironment[] = ['uat', 'production']

/** Throws `FORBIDDEN` when the caller may not start versions in an environment. */
export function requireRoleIn(environment: RunEnvironment, { user, role }: Caller): void {
  const minimum = minRoleIn(environment)
  if (hasRole(role, minimum)) return
  throw new DomainError('FORBIDDEN', `versions in ${environment} need the role ${minimum}; ${user} is ${role}`)
}

/** The same for a pipeline, which may have no environment. */
export function requireRoleOn({ environment }: { readonly environment?: RunEnvironment }, caller: Caller): void {
  if (environment !== undefined) requireRoleIn(environment, caller)
}

/** Throws `FORBIDDEN` unless the environment's `writes` match the table under every name that the catalog has for it. */
export async function requireWritesMatch(view: WriteRules, written: WrittenTable): Promise<void> {
  const problem = await writesProblem(view, written)
  if (problem !== undefined) throw forbidden(problem)
}

/** Why the environment must not write the table; undefined when it may. */
export async function writesProblem(
  { environment, writes }: WriteRules,
  written: WrittenTable,
): Promise<string | undefined> {
  if (writes.includes('*')) return undefined
  for (const name of await namesOf(written)) {
    if (writes.some((pattern) => matchesGlob(pattern, name))) continue
    const rule = writes.length === 0 ? 'nothing' : `only tables that match ${writes.join(', ')}`
    return `${environment} may write ${rule}, not ${described(written, name)}`
  }
  return undefined
}

/** Throws `FORBIDDEN` when uat or production lists the table in its `writes`; see {@link listedIn}. */
export async function requireUnlisted(environments: readonly WriteRules[], written: WrittenTable): Promise<void> {
  const rule = await listedIn(environments, written)
  if (rule !== undefined) throw forbidden(`${rule}: only a version that runs in an environment may write it`)
}

/**
 * The rule of uat or production that lists the table in its `writes`, under any name and in any case, in words;
 * undefined when none does. Patterns of only `*` and `.` list nothing.
 */
export async function listedIn(
  environments: readonly WriteRules[],
  written: WrittenTable,
): Promise<string | undefined> {
  const listing = environments
    .filter(({ environment }) => PROTECTED.includes(environment))
    .flatMap(({ environment, writes }) => writes.filter(isExplicit).map((pattern) => ({ environment, pattern })))
  if (listing.length === 0) return undefined
  for (const name of await namesOf(written)) {
    const found = listing.find(({ pattern }) => matchesGlob(pattern.toLowerCase(), name.toLowerCase()))
    if (found === undefined) continue
    const { environment, pattern } = found
    return `${described(written, name)} is listed in the writes of ${environment} (${pattern})`
  }
  return undefined
}

/** The name as given, as the catalog reads it, and all others of the same table. */
async function namesOf({ catalog, table: text }: WrittenTable): Promise<ReadonlySet<string>> {
  const names = new Set([text, formatIdentifier(parseIdentifier(text))])
  const table = await loadIfPresent(catalog, text)
  if (table === undefined) return names
  names.add(formatIdentifier(table.identifier))
  for (const other of await otherNamesOf(catalog, table)) names.add(other)
  return names
}

function described({ table }: WrittenTable, name: string): string {
  return name === table ? table : `${table}, which is also ${name}`
}

function isExplicit(pattern: string): boolean {
  return !/^[*.]*$/.test(pattern)
}

function forbidden(message: string): DomainError {
  return fieldRefusal('FORBIDDEN', [{ path: 'sink_table', message }])
}
