import { BRANCH_PROGRESS_PREFIX, PROGRESS_PREFIX } from '../../../catalog/ownership/staged-rows.ts'
import type { Caller } from '../../../domain/roles.ts'
import { isJsonObject } from '../../../iceberg/json/json-fields.ts'
import { parseJson, stringifyJson } from '../../../iceberg/json/lossless-json.ts'
import { isLimited } from './require-access.ts'

/** Properties in which pipelines record their progress, with the names of their source tables. */
const NAMING_TABLES = [PROGRESS_PREFIX, BRANCH_PROGRESS_PREFIX]

/** The properties of a table without those that name other tables, for a caller whom grants limit. */
export function visibleProperties<T>(
  caller: Caller,
  properties: Readonly<Record<string, T>>,
): Readonly<Record<string, T>> {
  if (!isLimited(caller)) return properties
  const isShown = ([name]: readonly [string, T]): boolean => !NAMING_TABLES.some((prefix) => name.startsWith(prefix))
  return Object.fromEntries(Object.entries(properties).filter(isShown))
}

/** A `LoadTableResult` in which the metadata has the {@link visibleProperties} only. */
export function visibleTableAnswer(caller: Caller, json: string): string {
  if (!isLimited(caller)) return json
  const answer = parseJson(json)
  if (!isJsonObject(answer) || !isJsonObject(answer['metadata'])) return json
  const { metadata } = answer
  const { properties } = metadata
  if (!isJsonObject(properties)) return json
  return stringifyJson({
    ...answer,
    metadata: { ...metadata, properties: { ...visibleProperties(caller, properties) } },
  })
}
