import type { Kysely, Selectable } from 'kysely'

import type { DeploymentAction, DeploymentOutcome } from '../../../domain/deployments.ts'
import type { RunEnvironment } from '../../../domain/environments.ts'
import { fromColumn, toColumn } from '../../json-column.ts'
import type { KeyPageRequest } from '../../key-page.ts'
import { decodeOptional } from '../../nullable.ts'
import type { DeploymentHistoryTable, StateTables } from '../../schema.ts'
import type { WindowOverride } from '../window-override.ts'
import type { DeploymentKey } from './deployment-store.ts'

/** A deploy, undeploy or rollback, and how it ended. */
export interface DeploymentHistoryRecord extends DeploymentKey {
  readonly id: string
  readonly action: DeploymentAction
  readonly outcome: DeploymentOutcome
  readonly versionId?: string
  readonly previousVersionId?: string
  /** As configured: secrets only as `env:NAME`. */
  readonly parameters?: Readonly<Record<string, string | number | boolean>>
  readonly reason?: string
  readonly startedBy: string
  readonly startedAt: string
  readonly endedAt?: string
  /** Who did not wait for the window. */
  readonly override?: WindowOverride
}

/** What is known at the end of an action. */
export type DeploymentEnd = Pick<
  DeploymentHistoryRecord,
  'outcome' | 'versionId' | 'previousVersionId' | 'parameters' | 'reason'
> & { readonly endedAt: string }

/** The history of deployments; it is deleted only with its definition. */
export interface DeploymentHistoryStore {
  insert(entry: DeploymentHistoryRecord): Promise<void>
  end(id: string, end: DeploymentEnd): Promise<void>
  setOverride(id: string, override: WindowOverride): Promise<void>
  /** Newest first, one more than the limit when there are more; the key is the id. */
  list(
    place: { readonly definitionId: string; readonly environment?: RunEnvironment | undefined },
    page: KeyPageRequest,
  ): Promise<readonly DeploymentHistoryRecord[]>
  /** The last successful deploy or rollback of another version than this one. */
  lastOther(key: DeploymentKey, versionId: string): Promise<DeploymentHistoryRecord | undefined>
}

/** The history of deployments in the state database. */
export function createDeploymentHistoryStore(db: Kysely<StateTables>): DeploymentHistoryStore {
  const all = (definitionId: string) =>
    db.selectFrom('deployment_history').selectAll().where('definition_id', '=', definitionId).orderBy('id', 'desc')
  return {
    async insert(entry) {
      await db.insertInto('deployment_history').values(toRow(entry)).execute()
    },
    async end(id, { outcome, versionId, previousVersionId, parameters, reason, endedAt }) {
      const ended = {
        outcome,
        version_id: versionId ?? null,
        previous_version_id: previousVersionId ?? null,
        parameters_json: toColumn(parameters),
        reason: reason ?? null,
        ended_at: endedAt,
      }
      await db.updateTable('deployment_history').set(ended).where('id', '=', id).execute()
    },
    async setOverride(id, override) {
      const update = db.updateTable('deployment_history').set({ override_json: toColumn(override) })
      await update.where('id', '=', id).execute()
    },
    async list({ definitionId, environment }, { limit, after }) {
      const rows = await all(definitionId)
        .$if(environment !== undefined, (query) => query.where('environment', '=', environment ?? ''))
        .$if(after !== undefined, (query) => query.where('id', '<', after ?? ''))
        .limit(limit + 1)
        .execute()
      return rows.map(fromRow)
    },
    async lastOther({ definitionId, environment }, versionId) {
      const row = await all(definitionId)
        .where('environment', '=', environment)
        .where('outcome', '=', 'succeeded')
        .where('version_id', 'is not', null)
        .where('version_id', '<>', versionId)
        .where('action', 'in', ['deploy', 'rollback'])
        .limit(1)
        .executeTakeFirst()
      return row && fromRow(row)
    },
  }
}

function toRow(entry: DeploymentHistoryRecord): DeploymentHistoryTable {
  return {
    id: entry.id,
    definition_id: entry.definitionId,
    environment: entry.environment,
    action: entry.action,
    outcome: entry.outcome,
    version_id: entry.versionId ?? null,
    previous_version_id: entry.previousVersionId ?? null,
    parameters_json: toColumn(entry.parameters),
    reason: entry.reason ?? null,
    started_by: entry.startedBy,
    started_at: entry.startedAt,
    ended_at: entry.endedAt ?? null,
    override_json: toColumn(entry.override),
  }
}

function fromRow(row: Selectable<DeploymentHistoryTable>): DeploymentHistoryRecord {
  return {
    id: row.id,
    definitionId: row.definition_id,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `toRow` writes these columns
    environment: row.environment as RunEnvironment,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    action: row.action as DeploymentAction,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    outcome: row.outcome as DeploymentOutcome,
    startedBy: row.started_by,
    startedAt: row.started_at,
    ...decodeOptional({
      versionId: row.version_id,
      previousVersionId: row.previous_version_id,
      parameters: fromColumn<Readonly<Record<string, string | number | boolean>>>(row.parameters_json),
      reason: row.reason,
      endedAt: row.ended_at,
      override: fromColumn<WindowOverride>(row.override_json),
    }),
  }
}
