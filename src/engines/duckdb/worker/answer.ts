import { relative } from 'node:path'

import { IcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { QueryInput } from '../../engine.ts'
import type { OutputSpec } from '../../output-spec.ts'
import { appendFrom } from '../write/append-from.ts'
import { openRunAlone } from '../session/session.ts'
import { compareQueries, type LocalComparison } from '../sandbox/compare-queries.ts'
import { createLocalSandbox } from '../sandbox/local-sandbox.ts'
import { queryRows } from '../sandbox/query-rows.ts'

import type { WorkerInput, WorkerOutput, WorkerRequest, WrittenFile, WrittenFiles } from './messages.ts'
import { StagedIO } from './staged-io.ts'

type Request<Op extends WorkerRequest['op']> = Extract<WorkerRequest, { readonly op: Op }>

const sandbox = createLocalSandbox()

/** Handles a request in this process. Each run has a separate database, which is closed after the answer. */
export async function answer(request: WorkerRequest): Promise<unknown> {
  switch (request.op) {
    case 'check':
      return sandbox.check(request.sql)
    case 'references':
      return sandbox.references(request.sql)
    case 'syntax':
      return sandbox.syntax(request.sql)
    case 'tables':
      return sandbox.tables(request.query)
    case 'describe':
      return sandbox.describe(request.relations, request.query)
    case 'query':
      return query(request)
    case 'compare':
      return compare(request)
    case 'append':
      return append(request)
    default:
      return request satisfies never
  }
}

async function query({ folder, bounds, inputs, limits, ...task }: Request<'query'>): Promise<unknown> {
  const run = await openRunAlone({ folder, doing: 'running the query', bounds })
  try {
    return await queryRows(run, { ...task, inputs: inputs.map(openInput), bounds: limits })
  } finally {
    await run.close()
  }
}

async function compare({ folder, bounds, inputs, task }: Request<'compare'>): Promise<LocalComparison> {
  const run = await openRunAlone({ folder, doing: 'running the query', bounds })
  try {
    return await compareQueries(run, { ...task, inputs: inputs.map(openInput) })
  } finally {
    await run.close()
  }
}

async function append(request: Request<'append'>): Promise<WrittenFiles> {
  const { folder, bounds, inputs, task, output, sides } = request
  const run = await openRunAlone({ folder, doing: 'running the query', bounds })
  const places = new OutputPlaces(folder)
  const { io } = places
  const placed = (given: WorkerOutput): OutputSpec => ({ ...given, newDataLocation: (_, index) => places.next(index) })
  const moved = (files: readonly DataFile[]): WrittenFile[] =>
    files.map((file) => ({ file, ...places.of(file.filePath) }))
  try {
    const result = await appendFrom(
      run,
      {
        ...task,
        inputs: inputs.map(openInput),
        isUntrusted: true,
        io,
        output: placed(output),
        sides: sides.map((side) => ({ ...side, io, output: placed(side.output) })),
      },
      {},
    )
    const { files, rowsRead, rowsDeleted, checks } = result
    return {
      written: moved(files),
      sides: result.sides.map((side) => moved(side.files)),
      checks,
      rowsRead,
      rowsDeleted,
    }
  } finally {
    await run.close()
  }
}

function openInput({ files, ...input }: WorkerInput): QueryInput {
  return { ...input, io: new StagedIO(files) }
}

/** Records the paths of new files instead of moving them: the parent moves them to their final locations. */
class OutputPlaces {
  readonly #folder: string
  readonly #names = new Map<string, string>()
  readonly #indexes = new Map<string, number>()

  constructor(folder: string) {
    this.#folder = folder
  }

  get io(): FileIO {
    const moveIn = async (path: string, location: string): Promise<void> => {
      this.#names.set(location, relative(this.#folder, path))
    }
    return Object.assign(new StagedIO([]), { moveIn, delete: async (): Promise<void> => undefined })
  }

  next(index: number): string {
    const location = `output-${this.#indexes.size}`
    this.#indexes.set(location, index)
    return location
  }

  of(location: string): Pick<WrittenFile, 'name' | 'index'> {
    const name = this.#names.get(location)
    const index = this.#indexes.get(location)
    if (name === undefined || index === undefined)
      throw new IcebergError('ENGINE_FAILED', `${location} is not a new file of this query`)
    return { name, index }
  }
}
