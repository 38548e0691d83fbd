import { OPERATIONS, type BulkKind } from '../../../../../src/domain/tables/operations.ts'
import type { Operation } from '../../../api/types.ts'
import { formatBytes, formatCount, formatPlural } from '../../../strings/everywhere/units.ts'
import { bulk as words } from '../../../strings/bulk.ts'
import { type Details, numberOf } from '../actions/action-figures.ts'
import type { BulkItem } from './bulk-run.ts'

/** What a preview says, in a few words. */
export function describePlan(kind: BulkKind, details: Details): string {
  const [first = 0, second = 0, third = 0] = OPERATIONS[kind].figures.map((name) => numberOf(details, name))
  switch (kind) {
    case 'compact':
      return words.compact(formatPlural(first, 'file'), formatCount(second), formatBytes(third))
    case 'convert_deletes':
      return words.conversion(formatPlural(first, 'equality delete file'), formatBytes(third))
    case 'rewrite_position_deletes':
      return words.deletes(formatPlural(first, 'delete file'), formatCount(second), formatBytes(third))
    case 'rewrite_manifests':
      return words.manifests(formatPlural(first, 'manifest'), formatCount(second))
    case 'expire':
      return words.expire(formatPlural(first, 'snapshot'), formatPlural(second, 'data file'))
  }
}

/** The sum of the previews of all tables that take part. */
export function sumOfPlans(kind: BulkKind, items: readonly BulkItem[]): Details {
  const planned = items.flatMap((item) => (item.step === 'planned' ? [item.details] : []))
  return Object.fromEntries(
    OPERATIONS[kind].figures.map((name) => [name, planned.reduce((sum, details) => sum + numberOf(details, name), 0)]),
  )
}

/** How many tables are where in a plan for many. */
export function countSteps(items: readonly BulkItem[]) {
  const operations = items.flatMap((item) => (item.step === 'started' ? [item.operation] : []))
  const isEnded = (operation: Operation | undefined) => operation !== undefined && operation.state !== 'running'
  return {
    all: items.length,
    planning: items.filter(({ step }) => step === 'planning').length,
    planned: items.filter(({ step }) => step === 'planned').length,
    starting: items.filter(({ step }) => step === 'starting').length,
    started: operations.length,
    ended: operations.filter(isEnded).length,
    succeeded: operations.filter((operation) => operation?.state === 'succeeded').length,
  }
}
