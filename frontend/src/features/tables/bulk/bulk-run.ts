import { isWithoutEffect, OPERATIONS, type BulkKind } from '../../../../../src/domain/tables/operations.ts'
import { ApiError, hasCode, isUnreachable } from '../../../api/api-error.ts'
import { api } from '../../../api/client.ts'
import { Limiter } from '../../../api/limiter.ts'
import type { Operation, OperationAccepted, OperationList } from '../../../api/types.ts'
import { errorText } from '../../../components/status/states.tsx'
import { bulk as words } from '../../../strings/bulk.ts'
import { type Details, parseDetails } from '../actions/action-figures.ts'
import { affectedPipelines } from '../actions/affected-pipelines.ts'
import { previewAction } from '../api.ts'

/** A table of a plan for many, and how far it is. */
export type BulkItem = { readonly table: string } & (
  | { readonly step: 'planning' }
  /** Nothing would change: it takes no part. */
  | { readonly step: 'nothing' }
  | { readonly step: 'planned'; readonly planId: string; readonly details: Details }
  /** It takes no part, or could not be started. */
  | { readonly step: 'refused'; readonly reason: string }
  | { readonly step: 'starting'; readonly details: Details }
  | { readonly step: 'started'; readonly operationId: string; readonly operation: Operation | undefined }
)

const AT_ONCE = 4
const POLL_MS = 1500
const ATTEMPTS = 4
const RETRY_MS = 1000
/** Operations of a page of the list: more than can be selected. */
const LISTED = 200

/** One plan for many tables: a preview of each, one confirmation, then one operation for each. */
export class BulkRun {
  readonly kind: BulkKind
  /** What the operations have in common in the ledger. */
  readonly group = `page-${randomName()}`
  #stop = new AbortController()
  readonly #limiter = new Limiter(AT_ONCE)
  readonly #listeners = new Set<() => void>()
  #items: readonly BulkItem[]

  constructor(kind: BulkKind, tables: readonly string[]) {
    this.kind = kind
    this.#items = tables.map((table) => ({ table, step: 'planning' }))
  }

  /** The tables in their order; a new array with each change. */
  readonly items = (): readonly BulkItem[] => this.#items

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Makes the previews. */
  async plan(): Promise<void> {
    this.#stop = new AbortController() // React opens a dialog twice while developing
    await Promise.all(this.#items.map(({ table }) => this.#each(table, () => this.#preview(table))))
  }

  /** Applies every preview that changes something, each once, and follows the operations until all have ended. */
  async apply(): Promise<void> {
    const planned = this.#items.filter((item) => item.step === 'planned')
    for (const { table, details } of planned) this.#set({ table, step: 'starting', details })
    await Promise.all(planned.map(({ table, planId }) => this.#each(table, () => this.#start(table, planId))))
    await this.#follow()
  }

  /** Stops previews and following; operations that have been started continue. */
  close(): void {
    this.#stop.abort()
  }

  async #each(table: string, task: () => Promise<BulkItem>): Promise<void> {
    try {
      this.#set(await this.#limiter.run(task, this.#stop.signal))
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#set({ table, step: 'refused', reason: reasonOf(error) })
    }
  }

  async #preview(table: string): Promise<BulkItem> {
    const { plan_id: planId, details_json: json } = await previewAction(OPERATIONS[this.kind].request.path, { table })
    const details = parseDetails(json)
    if (isWithoutEffect(this.kind, details) || planId === undefined) return { table, step: 'nothing' }
    if (affectedPipelines(details).length > 0) return { table, step: 'refused', reason: words.affects }
    return { table, step: 'planned', planId, details }
  }

  async #start(table: string, planId: string): Promise<BulkItem> {
    const accepted = await this.#applyOnce(table, planId)
    return { table, step: 'started', operationId: accepted.operation_id, operation: undefined }
  }

  /** The key makes it safe to send the request again when its answer was lost. */
  async #applyOnce(table: string, planId: string): Promise<OperationAccepted> {
    const headers = { Prefer: 'respond-async', 'Idempotency-Key': planId, 'Operation-Group': this.group }
    for (let attempt = 1; ; attempt++) {
      try {
        return await api.post(OPERATIONS[this.kind].request.path, { table, plan_id: planId }, { headers })
      } catch (error) {
        if (!isUnreachable(error) || attempt === ATTEMPTS) throw error
        await wait(RETRY_MS * attempt)
      }
    }
  }

  async #follow(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const open = this.#items.filter((item) => item.step === 'started' && isOpen(item.operation))
      if (open.length === 0) return
      await this.#read().catch(() => undefined) // tried again with the next turn
      await wait(POLL_MS)
    }
  }

  async #read(): Promise<void> {
    const { operations } = await api.get<OperationList>('/api/operations', {
      query: { group: this.group, page_size: LISTED },
    })
    const listed = new Map(operations.map((operation) => [operation.id, operation]))
    for (const item of this.#items) {
      if (item.step !== 'started' || !isOpen(item.operation)) continue
      this.#set({ ...item, operation: listed.get(item.operationId) ?? item.operation })
    }
  }

  #set(changed: BulkItem): void {
    this.#items = this.#items.map((item) => (item.table === changed.table ? changed : item))
    for (const listener of this.#listeners) listener()
  }
}

/** Whether an operation has not ended, as far as is known. */
export function isOpen(operation: Operation | undefined): boolean {
  return operation === undefined || operation.state === 'running'
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** A name that no other run has; `crypto.randomUUID` is missing on pages without TLS. */
function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function reasonOf(error: unknown): string {
  if (hasCode(error, 'PLAN_STALE')) return words.stale
  return error instanceof ApiError ? error.detail : errorText(error)
}
