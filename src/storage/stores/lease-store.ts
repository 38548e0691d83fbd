import type { Kysely } from 'kysely'

import type { LoopLease } from '../../lib/start-loop.ts'
import type { Instance } from '../instance-registry.ts'
import type { StateTables } from '../schema.ts'

/** A process that wants work for itself until a time, in ms since the epoch. */
export interface LeaseRequest {
  readonly owner: number
  readonly untilMs: number
  readonly nowMs: number
  /** Whether the process with this id is known to run. */
  readonly isAlive: (id: number) => Promise<boolean>
}

/** A lease that its owner wants to extend; times in ms since the epoch. */
export interface HeldLease {
  readonly owner: number
  readonly heldUntilMs: number
  readonly untilMs: number
}

/** Leases on named work that one process at a time does (docs/adr/0002-sqlite-access.md has the databases). */
export interface LeaseStore {
  /** Takes or extends the lease; false when another running process holds it. */
  take(name: string, request: LeaseRequest): Promise<boolean>
  /** Extends a lease that is still as its owner has left it; false when it has been taken since, even if it is free again. */
  renew(name: string, lease: HeldLease): Promise<boolean>
  /** Gives one lease back. */
  release(name: string, owner: number): Promise<void>
}

/** Leases in the state database. */
export function createLeaseStore(db: Kysely<StateTables>): LeaseStore {
  return {
    async take(name, { owner, untilMs, nowMs, isAlive }) {
      const row = { name, owner, until_ms: untilMs }
      const insert = db.insertInto('leases').values(row)
      const inserted = await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst()
      if (inserted.numInsertedOrUpdatedRows === 1n) return true
      const held = await db.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst()
      if (held === undefined) return false
      const isMine = held.owner === owner
      if (!isMine && held.until_ms > nowMs && (await isAlive(held.owner))) return false
      const update = db.updateTable('leases').set(row).where('name', '=', name)
      const unchanged = update.where('owner', '=', held.owner).where('until_ms', '=', held.until_ms)
      return (await unchanged.executeTakeFirst()).numUpdatedRows === 1n
    },
    async renew(name, { owner, heldUntilMs, untilMs }) {
      const update = db.updateTable('leases').set({ until_ms: untilMs }).where('name', '=', name)
      const held = update.where('owner', '=', owner).where('until_ms', '=', heldUntilMs)
      return (await held.executeTakeFirst()).numUpdatedRows === 1n
    },
    async release(name, owner) {
      await db.deleteFrom('leases').where('name', '=', name).where('owner', '=', owner).execute()
    },
  }
}

export interface NamedLeaseDeps {
  readonly leases: LeaseStore
  readonly instance: Pick<Instance, 'id' | 'isAlive'>
  readonly now: () => Date
}

/** The lease of this process on named background work; each `take` extends the lease by `ms`. */
export function namedLease({ leases, instance, now }: NamedLeaseDeps, name: string, ms: number): LoopLease {
  const isAlive = (id: number): Promise<boolean> => instance.isAlive(id)
  return {
    take() {
      const nowMs = now().getTime()
      return leases.take(name, { owner: instance.id, untilMs: nowMs + ms, nowMs, isAlive })
    },
    release: () => leases.release(name, instance.id),
  }
}
