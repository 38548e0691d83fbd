import { isJsonObject } from '../../json/json-fields.ts'
import type { JsonObject, JsonValue } from '../../json/lossless-json.ts'

/** Changes the list of fields of one struct. */
export type FieldsEdit = (fields: readonly JsonObject[]) => readonly JsonObject[]

/**
 * A copy of a schema document with changed fields of one struct: the struct that is the type of the field
 * (or list element, or map value) with id `structId`, or the schema itself without an id. Everything else, including unknown
 * keys, is not changed.
 */
export function editStructFields(schema: JsonObject, structId: number | undefined, edit: FieldsEdit): JsonObject {
  return editStruct(schema, { ownId: undefined, structId, edit })
}

interface EditState {
  /** Id of the field whose type is visited. */
  readonly ownId: JsonValue | undefined
  readonly structId: number | undefined
  readonly edit: FieldsEdit
}

function editStruct(json: JsonObject, state: EditState): JsonObject {
  const fields = Array.isArray(json['fields']) ? json['fields'].filter(isJsonObject) : []
  if (state.ownId === state.structId) return { ...json, fields: [...state.edit(fields)] }
  return { ...json, fields: fields.map((field) => editInside(field, { typeKey: 'type', idKey: 'id' }, state)) }
}

function editInside(owner: JsonObject, keys: { typeKey: string; idKey: string }, state: EditState): JsonObject {
  const type = owner[keys.typeKey]
  if (!isJsonObject(type)) return owner
  return { ...owner, [keys.typeKey]: editType(type, { ...state, ownId: owner[keys.idKey] }) }
}

function editType(type: JsonObject, state: EditState): JsonObject {
  switch (type['type']) {
    case 'struct':
      return editStruct(type, state)
    case 'list':
      return editInside(type, { typeKey: 'element', idKey: 'element-id' }, state)
    case 'map':
      return editInside(
        editInside(type, { typeKey: 'key', idKey: 'key-id' }, state),
        { typeKey: 'value', idKey: 'value-id' },
        state,
      )
    default:
      return type
  }
}
