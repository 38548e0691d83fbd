import { DomainError } from '../../../domain/errors.ts'
import type { Caller } from '../../../domain/roles.ts'
import { type Prices, savingsOf } from '../../../domain/tables/prices.ts'
import { FairSlots } from '../../../engines/fair-slots.ts'
import { fieldRefusal } from '../../../schemas/issues.ts'
import { MAX_SAVINGS_DAYS, type SavingsReport } from '../../../schemas/tables/savings.ts'
import type { SavingsStore } from '../../../storage/stores/operations/savings-store.ts'
import { giveTurn } from '../../../lib/turns.ts'
import { isLimited, seesTable } from '../../identity/access/require-access.ts'
import { aftermathOf, SavingsSums, sumOf } from './savings-sums.ts'

/** Days in UTC, `2026-11-20`; both are part of the range. */
export interface DayRange {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** What operations cost and gained by day. */
export interface SavingsService {
  /**
   * Sums over the tables that exist for the caller. Throws `INVALID_REQUEST` for a range that is too long or ends before it begins, `UNPROCESSABLE` for
   * too many operations, `RATE_LIMITED` and `ENGINE_BUSY` when too many sums wait.
   */
  report(range: DayRange, caller: Caller): Promise<SavingsReport>
}

export interface SavingsServiceDeps {
  readonly store: SavingsStore
  readonly now: () => Date
  readonly prices?: Prices | undefined
  /** Operations that one request may read; default 200,000. */
  readonly maxOperations?: number
}

const DAY_MS = 24 * 60 * 60 * 1000
const DEFAULT_DAYS = 30
const MAX_OPERATIONS = 200_000
const LANES = { sum: { running: 1, waiting: 32, waitingPerOwner: 4 } } as const

type Days = Required<{ readonly [K in keyof DayRange]: string }>

/** Sums over the ledger, one at a time: equal requests that wait share an answer, unless grants limit who asks. */
export function createSavingsService(deps: SavingsServiceDeps): SavingsService {
  const waiting = new Map<string | symbol, Promise<SavingsReport>>()
  const slots = new FairSlots(LANES)

  return {
    report(range, caller) {
      const days = daysOf(range, deps.now())
      const key = isLimited(caller) ? Symbol(caller.user) : `${days.from} ${days.to}`
      const known = waiting.get(key)
      if (known !== undefined) return known
      const report = slots
        .run({ lane: 'sum', owner: caller.user }, async () => {
          await giveTurn()
          waiting.delete(key) // what ends from now on may be missing
          return reportOf(deps, days, caller)
        })
        .finally(() => waiting.delete(key))
      waiting.set(key, report)
      return report
    },
  }
}

function daysOf(range: DayRange, now: Date): Days {
  const to = range.to ?? dayOf(now.getTime())
  const from = range.from ?? dayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS)
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days < 1) throw fieldRefusal('INVALID_REQUEST', [{ path: 'from', message: `must not be after to (${to})` }])
  if (days > MAX_SAVINGS_DAYS) {
    const message = `must be at most ${MAX_SAVINGS_DAYS} days before to (${to})`
    throw fieldRefusal('INVALID_REQUEST', [{ path: 'from', message }])
  }
  return { from, to }
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

async function reportOf(deps: SavingsServiceDeps, { from, to }: Days, caller: Caller): Promise<SavingsReport> {
  const { store, prices, maxOperations = MAX_OPERATIONS } = deps
  const begin = `${from}T00:00:00.000Z`
  const until = new Date(Date.parse(to) + DAY_MS).toISOString()
  const count = await store.count(begin, until)
  if (count > maxOperations) {
    throw new DomainError(
      'UNPROCESSABLE',
      `there are ${count} operations from ${from} to ${to}, more than ${maxOperations}; request fewer days`,
    )
  }
  const sums = new SavingsSums(aftermathOf(await store.rollbacks(begin), await store.quarantined(begin)))
  for await (const portion of store.portions(begin, until)) {
    for (const operation of portion) if (seesTable(caller, operation.table)) sums.add(operation)
  }
  const rows = sums.rows()
  const total = sumOf(rows)
  const storedBytes = total.storage_freed_bytes - total.quarantined_bytes - total.storage_added_bytes
  return {
    success: true,
    from,
    to,
    total,
    by_policies: sumOf(rows.filter(({ by }) => by === 'policy')),
    by_people: sumOf(rows.filter(({ by }) => by === 'person')),
    money: savingsOf({ storedBytes, scanRequests: total.scan_requests_saved }, prices),
    rows,
  }
}
