import { createHmac } from 'node:crypto'

import type { AuditEventsTable } from './schema.ts'
import { sha256Hex } from '../lib/sha256.ts'

/** An audit row before it is chained. */
export type UnchainedRow = Omit<AuditEventsTable, 'seq' | 'prev_hash' | 'hash'>

/** The last row of a chain: how many rows there are, and the hash that covers them all. */
export interface ChainHead {
  readonly seq: number
  readonly hash: string
}

/** The head of the empty chain. */
export const EMPTY_CHAIN: ChainHead = { seq: 0, hash: '0'.repeat(64) }

/** The row chained as the next one after `head`. */
export function chainRow(head: ChainHead, row: UnchainedRow): AuditEventsTable {
  const linked = { ...row, seq: head.seq + 1, prev_hash: head.hash }
  return { ...linked, hash: rowHash(linked) }
}

/**
 * SHA-256, in hex, of the canonical row: a JSON array of every column except the hash itself, in this order, as UTF-8.
 * It includes the previous hash, so each hash covers all rows up to its own.
 */
export function rowHash(row: Omit<AuditEventsTable, 'hash'>): string {
  const canonical = JSON.stringify([
    row.seq,
    row.prev_hash,
    row.at,
    row.actor,
    row.role,
    row.channel,
    row.action,
    row.object_type,
    row.object_id,
    row.outcome,
    row.request_id,
    row.details_json,
  ])
  return sha256Hex(canonical)
}

/** HMAC-SHA256, in hex, of a head: only the holder of the key can prove that the log ends there. */
export function headMac(key: Uint8Array, head: ChainHead): string {
  return createHmac('sha256', key).update(`lockhouse-audit:${head.seq}:${head.hash}`).digest('hex')
}

/** Follows a chain row by row and detects the first row that is not the expected next one. */
export class ChainFollower {
  #head = EMPTY_CHAIN

  /** The last valid row. */
  get head(): ChainHead {
    return this.#head
  }

  /** False when the row is not the unchanged next one; the follower then does not advance. */
  accept(row: AuditEventsTable): boolean {
    const follows = row.seq === this.#head.seq + 1 && row.prev_hash === this.#head.hash
    if (!follows || row.hash !== rowHash(row)) return false
    this.#head = { seq: row.seq, hash: row.hash }
    return true
  }
}
