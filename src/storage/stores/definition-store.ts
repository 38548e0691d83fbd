import type { Kysely, Selectable } from 'kysely'

import type { Environment } from '../../domain/environments.ts'
import type { KeyPageRequest } from '../key-page.ts'
import { prepared } from '../prepared-query.ts'
import type { PipelineDefinitionsTable, StateTables } from '../schema.ts'

/** A pipeline definition, without its versions. */
export interface DefinitionRecord {
  readonly id: string
  readonly name: string
  readonly description: string
  /** The owner whose files describe it; undefined: people change it. */
  readonly managedBy: string | undefined
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
  /** Starts at 1; each change of the definition, or of its versions' environments, increases it by one. */
  readonly revision: number
}

export interface DefinitionStore {
  insert(definition: DefinitionRecord): Promise<void>
  find(id: string): Promise<DefinitionRecord | undefined>
  /** The definition of a name that an owner has. */
  findManaged(managedBy: string, name: string): Promise<DefinitionRecord | undefined>
  /** Newest first; with an environment, only those with a version there. One more than the limit if there are more. */
  list(environment: Environment | undefined, page: KeyPageRequest): Promise<readonly DefinitionRecord[]>
  /** Replaces name, description and owner; false when the definition does not have `expectedRevision`. */
  update(definition: DefinitionRecord, expectedRevision: number): Promise<boolean>
  /** Increases the revision, after a version changed its environment. */
  touch(id: string): Promise<void>
  /** Also deletes versions, requests and comments; false when the definition does not have `expectedRevision`. */
  delete(id: string, expectedRevision: number): Promise<boolean>
}

const findDefinition = prepared<{ id: string }, PipelineDefinitionsTable>((db, parameter) =>
  db.selectFrom('pipeline_definitions').selectAll().where('id', '=', parameter('id')),
)

const touchDefinition = prepared<{ id: string }, unknown>((db, parameter) =>
  db
    .updateTable('pipeline_definitions')
    .set((set) => ({ revision: set('revision', '+', 1) }))
    .where('id', '=', parameter('id')),
)

/** Pipeline definitions in the state database. */
export function createDefinitionStore(db: Kysely<StateTables>): DefinitionStore {
  return {
    async insert(definition) {
      await db.insertInto('pipeline_definitions').values(toRow(definition)).execute()
    },
    async find(id) {
      const [row] = (await findDefinition(db, { id })).rows
      return row && fromRow(row)
    },
    async findManaged(managedBy, name) {
      const query = db.selectFrom('pipeline_definitions').selectAll().where('managed_by', '=', managedBy)
      const row = await query.where('name', '=', name).executeTakeFirst()
      return row && fromRow(row)
    },
    async list(environment, page) {
      const rows = await (environment === undefined ? listAll(db, page) : listByEnvironment(db, environment, page))
      return rows.map(fromRow)
    },
    async update({ id, name, description, managedBy, updatedAt, revision }, expectedRevision) {
      const change = { name, description, managed_by: managedBy ?? null, updated_at: updatedAt, revision }
      const query = db.updateTable('pipeline_definitions').set(change).where('id', '=', id)
      return (await query.where('revision', '=', expectedRevision).executeTakeFirst()).numUpdatedRows === 1n
    },
    async touch(id) {
      await touchDefinition(db, { id })
    },
    async delete(id, expectedRevision) {
      const query = db.deleteFrom('pipeline_definitions').where('id', '=', id)
      return (await query.where('revision', '=', expectedRevision).executeTakeFirst()).numDeletedRows === 1n
    },
  }
}

function listAll(db: Kysely<StateTables>, { limit, after }: KeyPageRequest) {
  let query = db.selectFrom('pipeline_definitions').selectAll().orderBy('id', 'desc')
  if (after !== undefined) query = query.where('id', '<', after)
  return query.limit(limit + 1).execute()
}

/** Selects the page's ids through an index first, so that every page costs the same. */
function listByEnvironment(db: Kysely<StateTables>, environment: Environment, { limit, after }: KeyPageRequest) {
  let ids = db.selectFrom('pipeline_versions').select('definition_id').where('environment', '=', environment)
  if (after !== undefined) ids = ids.where('definition_id', '<', after)
  const page = ids
    .groupBy('definition_id')
    .orderBy('definition_id', 'desc')
    .limit(limit + 1)
  return db
    .selectFrom(page.as('page'))
    .innerJoin('pipeline_definitions as definition', 'definition.id', 'page.definition_id')
    .selectAll('definition')
    .orderBy('page.definition_id', 'desc')
    .execute()
}

function toRow(definition: DefinitionRecord): PipelineDefinitionsTable {
  return {
    id: definition.id,
    name: definition.name,
    description: definition.description,
    managed_by: definition.managedBy ?? null,
    created_by: definition.createdBy,
    created_at: definition.createdAt,
    updated_at: definition.updatedAt,
    revision: definition.revision,
  }
}

function fromRow(row: Selectable<PipelineDefinitionsTable>): DefinitionRecord {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    managedBy: row.managed_by ?? undefined,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    revision: row.revision,
  }
}
