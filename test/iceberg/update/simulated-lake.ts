import { expect } from 'vitest'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { fileKey } from '../../../src/iceberg/scan/file-scope.ts'
import { locationKey } from '../../../src/iceberg/io/location-identity.ts'
import { loadManifests } from '../../../src/iceberg/manifest/cache.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { currentSnapshot } from '../../../src/iceberg/metadata/metadata.ts'
import type { PartitionTuple } from '../../../src/iceberg/partitioning/partitioning.ts'
import { partitionSpecToJson } from '../../../src/iceberg/partitioning/partitioning.ts'
import { isDeletionVector } from '../../../src/iceberg/puffin/deletion-vector.ts'
import { loadDeletes, planFiles } from '../../../src/iceberg/scan/scan.ts'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import { planExpiryOf } from '../../../src/iceberg/update/expire-snapshots.ts'
import { filesOnlyReachableFrom } from '../../../src/iceberg/update/reachability.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { stageRewrite } from '../../../src/iceberg/update/stage/stage-rewrite.ts'
import type { RewriteOptions } from '../../../src/iceberg/update/stage/stage-rewrite.ts'
import { stageRowDelta } from '../../../src/iceberg/update/stage/stage-row-delta.ts'
import { byPart, TableFixture } from '../../support/table-fixture.ts'

/** A row: `uid` tells it from all others, deletes by value look at `key`. */
interface Row {
  readonly uid: number
  readonly key: number
}

/** What is in the files, which in these tests have no bytes of their own. */
interface Contents {
  readonly rows: Map<string, readonly Row[]>
  readonly keys: Map<string, ReadonlySet<number>>
  readonly positions: Map<string, ReadonlyMap<string, ReadonlySet<number>>>
}

interface PendingRewrite {
  readonly options: Omit<RewriteOptions, 'operationId'>
  /** Rows of the added files and where they go. */
  readonly moves: readonly { readonly uid: number; readonly scope: string }[]
}

const PARTITIONS = 3
const GLOBAL = 'all'

/**
 * A table whose rows are known twice: from the files that a scan plan names, read as the format says, and from a plain
 * list of what each commit meant. Both must agree after every commit, however commits overlap.
 */
export class SimulatedLake {
  readonly t: TableFixture
  readonly #contents: Contents = { rows: new Map(), keys: new Map(), positions: new Map() }
  /** Visible rows, and the partition (`spec/part`) that holds each. */
  readonly #expected = new Map<number, { readonly key: number; scope: string }>()
  /** Visible rows of every snapshot when it was current. */
  readonly #history = new Map<bigint, readonly number[]>()
  readonly #pending: PendingRewrite[] = []
  #uids = 0
  readonly outcomes = { committed: 0, conflicts: 0, expired: 0, deletedFiles: 0 }

  private constructor(t: TableFixture) {
    this.t = t
  }

  static async create(formatVersion: 2 | 3): Promise<SimulatedLake> {
    const t = await TableFixture.create({ partitionSpec: byPart, formatVersion })
    await t.update([{ action: 'add-spec', spec: partitionSpecToJson({ specId: 1, fields: [] }) }])
    return new SimulatedLake(t)
  }

  /** New rows with the given keys, one file per partition. */
  async append(keys: readonly number[], specId: number): Promise<void> {
    const files = await this.#writeRows(this.#newRows(keys), specId)
    const options = { files: files.map(({ file }) => file), operationId: 'append', now: this.t.now }
    await this.t.commit((table) => stageAppend(table, options))
    for (const { file, rows } of files) this.#show(file, rows)
    await this.check()
  }

  /** Deletes by value what was there, in one partition or everywhere, and inserts new rows with the same keys. */
  async upsert(keys: readonly number[], specId: number): Promise<void> {
    const scopes = new Map<string, number[]>()
    for (const key of keys) {
      const scope = scopeOf(specId, key)
      scopes.set(scope, [...(scopes.get(scope) ?? []), key])
    }
    const deleteFiles: DataFile[] = []
    for (const [, ofScope] of scopes) {
      const partition = partitionOf(specId, ofScope[0] ?? 0)
      const file = await this.t.equalityDeletes(partition, { specId, recordCount: ofScope.length })
      this.#contents.keys.set(file.filePath, new Set(ofScope))
      deleteFiles.push(file)
    }
    const files = await this.#writeRows(this.#newRows(keys), specId)
    const dataFiles = files.map(({ file }) => file)
    const options = { dataFiles, deleteFiles, operationId: 'upsert', now: this.t.now }
    await this.t.commit((table) => stageRowDelta(table, options))
    for (const [uid, row] of this.#expected) {
      for (const [scope, ofScope] of scopes) {
        if ((scope === GLOBAL || row.scope === scope) && ofScope.includes(row.key)) this.#expected.delete(uid)
      }
    }
    for (const { file, rows } of files) this.#show(file, rows)
    await this.check()
  }

  /** Deletes some visible rows of one file by position: by files of one or of several data files, in v3 by vector. */
  async deletePositions(pick: number, shared: boolean): Promise<void> {
    const tasks = await planFiles(this.t.table)
    const task = tasks[pick % Math.max(1, tasks.length)]
    if (task === undefined) return
    const all = this.#contents.rows.get(task.dataFile.filePath) ?? []
    const visible = new Set(this.#read(task).map((row) => row.uid))
    const doomed = all.filter((row) => visible.has(row.uid) && (row.uid + pick) % 3 === 0)
    const positions = new Set(doomed.map((row) => all.indexOf(row)))
    if (positions.size === 0) return
    if (this.t.table.metadata.formatVersion === 3) await this.#commitVector(task, positions)
    else await this.#commitPositions(task.dataFile, positions, shared)
    for (const { uid } of doomed) this.#expected.delete(uid)
    await this.check()
  }

  /** Reads some files as they are now and writes their rows anew; the commit comes later, or never. */
  async startRewrite(pick: number, specId: number): Promise<void> {
    const start = currentSnapshot(this.t.table.metadata)
    const tasks = (await planFiles(this.t.table)).filter((_, index) => ((pick >>> (index % 16)) & 1) === 1)
    if (start === undefined || tasks.length === 0) return
    const rows = tasks.flatMap((task) => this.#read(task))
    const files = await this.#writeRows(rows, specId)
    this.#pending.push({
      options: {
        startingSnapshotId: start.snapshotId,
        startingSequenceNumber: start.sequenceNumber,
        replaced: tasks.map((task) => task.dataFile),
        added: files.map(({ file }) => file),
      },
      moves: files.flatMap((f) => f.rows.map(({ uid, key }) => ({ uid, scope: scopeOf(specId, key) }))),
    })
  }

  /** Tries to commit a rewrite that was started before. */
  async finishRewrite(pick: number): Promise<void> {
    const [rewrite] = this.#pending.splice(pick % Math.max(1, this.#pending.length), 1)
    if (rewrite === undefined) return
    try {
      const options = { ...rewrite.options, operationId: 'rewrite', now: this.t.now }
      await this.t.commit((table) => stageRewrite(table, options))
    } catch (error) {
      if (!isIcebergError(error, 'COMMIT_CONFLICT')) throw error
      this.outcomes.conflicts += 1
      return
    }
    this.outcomes.committed += 1
    for (const { uid, scope } of rewrite.moves) {
      const row = this.#expected.get(uid)
      if (row !== undefined) row.scope = scope
    }
    await this.check()
  }

  /** A rewrite without anything in between. */
  async rewriteNow(pick: number, specId: number): Promise<void> {
    const before = this.#pending.length
    await this.startRewrite(pick, specId)
    if (this.#pending.length > before) await this.finishRewrite(before)
  }

  /** Tags or branches the current snapshot. */
  async addRef(name: string, type: 'tag' | 'branch'): Promise<void> {
    const id = this.t.table.metadata.currentSnapshotId
    if (id === undefined) return
    await this.t.update([{ action: 'set-snapshot-ref', 'ref-name': name, type, 'snapshot-id': id }])
  }

  /** Expires what is older than a number of commits, and really deletes the files that nothing needs any more. */
  async expire(ageInCommits: number, retainLast: number): Promise<void> {
    const before = this.t.table
    const olderThanMs = this.t.nowMs - ageInCommits * 1000
    const request = { nowMs: this.t.nowMs, olderThanMs, retainLast }
    const plan = await planExpiryOf(before, request)
    if (plan.updates.length === 0) return
    await this.t.commitStaged({ ...plan, writtenFiles: [] })
    const { foreignFiles, unreadSnapshots, perhapsNeeded, ...files } = await filesOnlyReachableFrom(
      before,
      this.t.table,
    )
    expect([foreignFiles, unreadSnapshots, perhapsNeeded]).toEqual([[], [], []])
    for (const location of Object.values(files).flat()) {
      await this.t.io.delete(location)
      this.outcomes.deletedFiles += 1
    }
    this.outcomes.expired += plan.expiredSnapshotIds.length
    for (const snapshot of this.t.table.metadata.snapshots) await this.#checkSnapshot(snapshot.snapshotId)
    await this.check()
  }

  /** Compares the rows that a reader sees with those it should, and the summary's totals with the manifests. */
  async check(): Promise<void> {
    const snapshot = currentSnapshot(this.t.table.metadata)
    if (snapshot === undefined) return
    const tasks = await planFiles(this.t.table)
    const seen = tasks.flatMap((task) => this.#read(task)).map((row) => row.uid)
    expect(seen.toSorted((a, b) => a - b)).toEqual([...this.#expected.keys()].toSorted((a, b) => a - b))
    this.#history.set(snapshot.snapshotId, seen)
    const deletes = await loadDeletes(this.t.table, await loadManifests(this.t.table, snapshot))
    const files = tasks.map((task) => task.dataFile)
    const total = (list: readonly DataFile[]): string => String(list.reduce((sum, file) => sum + file.recordCount, 0))
    const ofContent = (content: DataFile['content']): DataFile[] =>
      deletes.map((ref) => ref.file).filter((file) => file.content === content)
    expect(snapshot.summary).toMatchObject({
      'total-data-files': String(files.length),
      'total-records': total(files),
      'total-delete-files': String(deletes.length),
      'total-equality-deletes': total(ofContent('equality-deletes')),
      'total-position-deletes': total(ofContent('position-deletes')),
    })
    expect(new Set(deletes.map((ref) => fileKey(ref.file))).size).toBe(deletes.length)
  }

  async #checkSnapshot(snapshotId: bigint): Promise<void> {
    const tasks = await planFiles(this.t.table, { snapshotId })
    for (const { dataFile, deletes } of tasks) {
      for (const { filePath } of [dataFile, ...deletes.map((ref) => ref.file)]) {
        expect(await this.t.io.stat(filePath), `${filePath} of kept snapshot ${snapshotId}`).toBeDefined()
      }
    }
    const seen = tasks.flatMap((task) => this.#read(task)).map((row) => row.uid)
    expect(new Set(seen)).toEqual(new Set(this.#history.get(snapshotId)))
  }

  /** Rows of a file that its deletes leave, as a reader finds them. */
  #read({ dataFile, deletes }: FileScanTask): Row[] {
    const { rows, keys, positions } = this.#contents
    const all = rows.get(dataFile.filePath)
    if (all === undefined) throw new Error(`nobody wrote ${dataFile.filePath}`)
    return all.filter((row, position) =>
      deletes.every(({ file }) => {
        if (file.content === 'equality-deletes') return keys.get(file.filePath)?.has(row.key) !== true
        return positions.get(fileKey(file))?.get(locationKey(dataFile.filePath))?.has(position) !== true
      }),
    )
  }

  async #commitVector(task: FileScanTask, positions: ReadonlySet<number>): Promise<void> {
    const old = task.deletes.map((ref) => ref.file).filter(isDeletionVector)
    const key = locationKey(task.dataFile.filePath)
    const merged = new Set(positions)
    for (const file of old) for (const at of this.#contents.positions.get(fileKey(file))?.get(key) ?? []) merged.add(at)
    const vector = await this.t.deletionVector(task.dataFile, { recordCount: merged.size })
    this.#contents.positions.set(fileKey(vector), new Map([[key, merged]]))
    const options = { dataFiles: [], deleteFiles: [vector], operationId: 'vector', now: this.t.now }
    if (old.length > 0) {
      const hiding = stageRowDelta(this.t.table, options)
      await expect(hiding).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    }
    await this.t.commit((table) => stageRowDelta(table, { ...options, replacedDeleteFiles: old }))
  }

  async #commitPositions(dataFile: DataFile, positions: ReadonlySet<number>, shared: boolean): Promise<void> {
    const file = await this.t.positionDeletes(dataFile.partition, {
      specId: dataFile.specId,
      recordCount: positions.size,
      ...(shared ? {} : { referencedDataFile: dataFile.filePath }),
    })
    this.#contents.positions.set(fileKey(file), new Map([[locationKey(dataFile.filePath), positions]]))
    const options = { dataFiles: [], deleteFiles: [file], operationId: 'position', now: this.t.now }
    await this.t.commit((table) => stageRowDelta(table, options))
  }

  #newRows(keys: readonly number[]): Row[] {
    return keys.map((key) => ({ uid: this.#uids++, key }))
  }

  async #writeRows(
    rows: readonly Row[],
    specId: number,
  ): Promise<readonly { readonly file: DataFile; readonly rows: readonly Row[] }[]> {
    const groups = new Map<string, Row[]>()
    for (const row of rows) {
      const scope = scopeOf(specId, row.key)
      groups.set(scope, [...(groups.get(scope) ?? []), row])
    }
    const files = []
    for (const group of groups.values()) {
      const partition = partitionOf(specId, group[0]?.key ?? 0)
      const file = await this.t.dataFile(partition, { specId, recordCount: group.length })
      this.#contents.rows.set(file.filePath, group)
      files.push({ file, rows: group })
    }
    return files
  }

  #show({ specId }: DataFile, rows: readonly Row[]): void {
    for (const { uid, key } of rows) this.#expected.set(uid, { key, scope: scopeOf(specId, key) })
  }
}

function partitionOf(specId: number, key: number): PartitionTuple {
  return specId === 1 ? [] : [key % PARTITIONS]
}

/** Partition of a key; everything that is unpartitioned is one scope, and deletes in it are global. */
function scopeOf(specId: number, key: number): string {
  return specId === 1 ? GLOBAL : `${specId}/${key % PARTITIONS}`
}
