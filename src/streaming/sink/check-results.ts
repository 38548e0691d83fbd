import type { RowCheckResult } from '../../engines/row-checks.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { PipelineStopped } from '../pipeline-errors.ts'
import type { CheckProgress } from './batch-progress.ts'
import type { NodeCheck } from './batch-query.ts'

/** What the checks of a batch counted. */
export interface CheckCounts {
  readonly rowsDropped: number
  readonly checks: readonly CheckProgress[]
}

/**
 * Throws `PipelineStopped` `CHECK_FAILED` when more rows fail an expectation than it allows, and `INVALID_ARGUMENT` when a lookup table has
 * a key twice, which another try may find repaired.
 */
export function requireChecks(checks: readonly NodeCheck[], results: readonly RowCheckResult[]): void {
  for (const [at, check] of checks.entries()) {
    const result = results[at]
    if (result?.isExceeded !== true) continue
    const example = result.example === undefined ? '' : `, such as ${result.example}`
    if (check.counts === 'duplicates') {
      throw new IcebergError(
        'INVALID_ARGUMENT',
        `node ${check.nodeId}: the lookup table ${check.name} has ${countText(result.failed, 'key')} more than once${example}: ` +
          'remove the duplicates, or set on_duplicate to "any"',
      )
    }
    throw new PipelineStopped(
      'CHECK_FAILED',
      `${failureText(check, result)}${example}. Nothing of the batch was committed`,
    )
  }
}

function failureText({ nodeId, name, maxRatio }: NodeCheck, { failed, total }: RowCheckResult): string {
  const allowed = maxRatio === 0 ? '' : `, more than the allowed share of ${maxRatio}`
  return `node ${nodeId}: ${failed} of ${countText(total, 'row')} of the batch ${failed === 1 ? 'fails' : 'fail'} "${name}"${allowed}`
}

/** The counts of a batch for its progress. */
export function checkCounts(checks: readonly NodeCheck[], results: readonly RowCheckResult[]): CheckCounts {
  const counted = checks.map((check, at) => ({ ...check, ...(results[at] ?? { total: 0, failed: 0 }) }))
  return {
    rowsDropped: counted.reduce((sum, { counts, failed }) => sum + (counts === 'dropped' ? failed : 0), 0),
    checks: counted
      .filter(({ counts }) => counts === 'expectation')
      .map(({ nodeId, name, failed, total }) => ({ node_id: nodeId, name, failed, total })),
  }
}

function countText(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
