import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import {
  asObject,
  isJsonObject,
  requireArray,
  requireCount,
  requireObject,
  requireString,
} from '../../iceberg/json/json-fields.ts'
import { parseJson, stringifyJson } from '../../iceberg/json/lossless-json.ts'
import type { JsonObject } from '../../iceberg/json/lossless-json.ts'
import { Overtaken } from '../pipeline-errors.ts'
import { formatOffset, parseOffset, sameOffset } from '../source/offset.ts'
import type { StreamingOffset } from '../source/offset.ts'

/** A table by name and identity. */
export interface TableStamp {
  readonly table: string
  readonly uuid: string
}

/** The pipeline that a checkpoint belongs to. */
export interface CheckpointOwner {
  readonly pipelineId: string
  readonly sources: readonly TableStamp[]
  readonly sink: TableStamp
  /** Whether positions in the first snapshot count its files by age, and not in manifest order. */
  readonly countsByAge: boolean
}

/** A planned batch: how far each source is read once the batch is done. */
export interface LoggedBatch {
  readonly batchId: number
  readonly offsets: readonly StreamingOffset[]
}

/** The content of a checkpoint. */
export interface CheckpointState {
  /** Undefined: there is no checkpoint yet. */
  readonly queryId: string | undefined
  /** Undefined where only Spark has written. */
  readonly owner: CheckpointOwner | undefined
  /** Where reading began, per source. */
  readonly initial: readonly (StreamingOffset | undefined)[]
  readonly latest: LoggedBatch | undefined
  /** The batch before `latest`. */
  readonly previous: LoggedBatch | undefined
  readonly lastCommit: number | undefined
}

/** As many batches as Spark keeps by default (`spark.sql.streaming.minBatchesToRetain`). */
const RETAINED_BATCHES = 100
const OWNER_FILE = 'lockhouse.json'
const OWNER_VERSION = 1
/** Temporary files of Hadoop's file system and of `FileIO`, and checksums; those of a finished file are harmless to lose. */
const UNFINISHED = /^(\.+\d{1,15}\.(crc|[\w-]+\.tmp(\.crc)?)|\.tmp-\d{1,15}-[\w-]+)$/
const REMEDY = 'restore it, or delete the folder so that the pipeline resumes from the progress stored in its sink'

/**
 * A checkpoint folder in the layout of Spark Structured Streaming, so that each can resume where the other stopped:
 * `metadata` (query id), `offsets/N` (before batch N runs), `commits/N` (when it is done), `sources/<n>/offsets/0`
 * (where reading began). `lockhouse.json` next to them names the owner; Spark ignores it.
 */
export class Checkpoint {
  readonly location: string
  readonly #io: FileIO
  /** Spark's settings of the query, copied from batch to batch. */
  #conf: JsonObject = {}

  constructor(io: FileIO, location: string) {
    this.#io = io
    this.location = location
  }

  /** Reads the checkpoint; throws `CORRUPT_FILE` with the name of the invalid file. */
  async read(sourceCount: number): Promise<CheckpointState> {
    const queryId = await this.#readJson('metadata', (json) => requireString(json, 'id', 'metadata'))
    const owner = await this.#readJson(OWNER_FILE, readOwner)
    const initial = await Promise.all(Array.from({ length: sourceCount }, (_, source) => this.#readInitial(source)))
    const batches = await this.#numbers('offsets')
    const commits = await this.#numbers('commits')
    const last = batches.at(-1)
    const latest = last === undefined ? undefined : await this.#readBatch(last, sourceCount)
    const hasPrevious = last !== undefined && batches.includes(last - 1)
    return {
      queryId,
      owner,
      initial,
      latest,
      previous: hasPrevious ? await this.#readBatch(last - 1, sourceCount) : undefined,
      lastCommit: commits.at(-1),
    }
  }

  /** Creates a new checkpoint; an existing one is left unchanged. */
  async begin(queryId: string): Promise<void> {
    await this.#createOnce('metadata', `{"id":${JSON.stringify(queryId)}}`)
  }

  async writeOwner({ pipelineId, sources, sink, countsByAge }: CheckpointOwner): Promise<void> {
    const json = {
      version: OWNER_VERSION,
      pipeline_id: pipelineId,
      sources: sources.map(stampToJson),
      sink: stampToJson(sink),
      ...(countsByAge ? { counts_by_age: true } : {}),
    }
    await this.#io.write(`${this.location}/${OWNER_FILE}`, encode(stringifyJson(json)))
  }

  /** Records where reading of a source began. Returns what is recorded: another process may have been earlier. */
  async writeInitial(source: number, offset: StreamingOffset): Promise<StreamingOffset> {
    const isNew = await this.#createOnce(initialFile(source), formatOffset(offset))
    return isNew ? offset : ((await this.#readInitial(source)) ?? offset)
  }

  /**
   * Records what a batch will read, before it runs. Throws `Overtaken` when a different batch with this number is
   * already recorded: then another process uses this checkpoint.
   */
  async logBatch({ batchId, offsets }: LoggedBatch, nowMs: number): Promise<void> {
    const metadata = stringifyJson({ batchWatermarkMs: 0, batchTimestampMs: nowMs, conf: this.#conf })
    const text = ['v1', metadata, ...offsets.map(formatOffset)].join('\n')
    try {
      await this.#io.create(`${this.location}/offsets/${batchId}`, encode(text))
    } catch (error) {
      if (!isIcebergError(error, 'FILE_EXISTS')) throw error
      const logged = await this.#readBatch(batchId, offsets.length)
      const isSame = logged.offsets.every((offset, at) => offsets[at] !== undefined && sameOffset(offset, offsets[at]))
      if (isSame) return
      throw new Overtaken(
        `batch ${batchId} of the checkpoint was planned by another running copy of this pipeline: this one stops`,
      )
    }
  }

  /** Records that a batch is done, and removes the records of old batches. */
  async commitBatch(batchId: number): Promise<void> {
    await this.#createOnce(`commits/${batchId}`, 'v1\n{"nextBatchWatermarkMs":0}')
    const past = batchId - RETAINED_BATCHES
    if (past < 0) return
    await this.#io.delete(`${this.location}/commits/${past}`)
    await this.#io.delete(`${this.location}/offsets/${past}`)
  }

  /** Whether {@link commitBatch} has recorded a batch that is not old. */
  async isCommitted(batchId: number): Promise<boolean> {
    return (await this.#io.stat(`${this.location}/commits/${batchId}`)) !== undefined
  }

  /**
   * Deletes what a writer left that was stopped before the first batch was logged: since 4.1 Spark begins only where the
   * folders of the log are empty, hidden files included. For a checkpoint without a batch that no query writes to.
   */
  async removeUnfinished(): Promise<void> {
    for (const folder of ['offsets', 'commits']) {
      const path = `${this.location}/${folder}`
      for await (const { location } of this.#io.list(path)) {
        if (UNFINISHED.test(location.slice(path.length + 1))) await this.#io.delete(location)
      }
    }
  }

  async #readBatch(batchId: number, sourceCount: number): Promise<LoggedBatch> {
    const name = `offsets/${batchId}`
    const [version, metadata, ...lines] = ((await this.#readText(name)) ?? '').split('\n')
    const offsets = lines.filter((line) => line.trim() !== '')
    if (version?.trim() !== 'v1' || metadata === undefined || offsets.length !== sourceCount) {
      throw new IcebergError(
        'CORRUPT_FILE',
        `${name} of the checkpoint does not contain the offsets of ${sourceCount} source${sourceCount === 1 ? '' : 's'}: ${REMEDY}`,
      )
    }
    const conf = asObject(parseJson(metadata), name)['conf']
    if (isJsonObject(conf)) this.#conf = conf
    return { batchId, offsets: offsets.map((line) => parseOffset(line, `${name} of the checkpoint`)) }
  }

  async #numbers(folder: string): Promise<number[]> {
    const numbers: number[] = []
    const path = `${this.location}/${folder}`
    for await (const { location } of this.#io.list(path)) {
      const name = location.slice(path.length + 1) // a slash means a file in a subfolder, which is not part of the log
      if (/^\d{1,15}$/.test(name)) numbers.push(Number(name))
    }
    return numbers.sort((a, b) => a - b)
  }

  async #readJson<T>(name: string, read: (json: JsonObject) => T): Promise<T | undefined> {
    const text = await this.#readText(name)
    if (text === undefined) return undefined
    try {
      return read(asObject(parseJson(text), name))
    } catch (cause) {
      if (isIcebergError(cause, 'UNSUPPORTED')) throw cause
      throw new IcebergError('CORRUPT_FILE', `${name} of the checkpoint is damaged: ${REMEDY}`, { cause })
    }
  }

  async #readText(name: string): Promise<string | undefined> {
    try {
      return new TextDecoder().decode(await this.#io.read(`${this.location}/${name}`))
    } catch (error) {
      if (isIcebergError(error, 'FILE_NOT_FOUND')) return undefined
      throw error
    }
  }

  /** Undefined where reading has not begun; also for an empty file, which a writer may have left that was stopped. */
  async #readInitial(source: number): Promise<StreamingOffset | undefined> {
    const text = await this.#readText(initialFile(source))
    return text ? parseOffset(text.trim(), initialFile(source)) : undefined
  }

  /** Whether the file was created: false if it exists. */
  async #createOnce(name: string, text: string): Promise<boolean> {
    try {
      await this.#io.create(`${this.location}/${name}`, encode(text))
      return true
    } catch (error) {
      if (!isIcebergError(error, 'FILE_EXISTS')) throw error
      return false
    }
  }
}

function initialFile(source: number): string {
  return `sources/${source}/offsets/0`
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** Whether a folder contains a checkpoint of this service or of Spark. */
export async function isCheckpointFolder(io: FileIO, folder: string): Promise<boolean> {
  const found = await Promise.all(['metadata', OWNER_FILE].map((name) => io.stat(`${folder}/${name}`)))
  return found.some((file) => file !== undefined)
}

export function stampToJson({ table, uuid }: TableStamp): JsonObject {
  return { table, uuid }
}

export function stampFromJson(json: JsonObject, where: string): TableStamp {
  return { table: requireString(json, 'table', where), uuid: requireString(json, 'uuid', where) }
}

function readOwner(json: JsonObject): CheckpointOwner {
  const version = requireCount(json, 'version', OWNER_FILE)
  if (version > OWNER_VERSION) {
    throw new IcebergError(
      'UNSUPPORTED',
      `${OWNER_FILE} of the checkpoint has version ${version}: it was written by a newer version of this service`,
    )
  }
  const sources = requireArray(json, 'sources', OWNER_FILE)
  return {
    pipelineId: requireString(json, 'pipeline_id', OWNER_FILE),
    sources: sources.map((source) => stampFromJson(asObject(source, OWNER_FILE), OWNER_FILE)),
    sink: stampFromJson(requireObject(json, 'sink', OWNER_FILE), OWNER_FILE),
    countsByAge: json['counts_by_age'] === true,
  }
}
