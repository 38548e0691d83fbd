import type { NestedField, Type } from './types.ts'

/** Returns the next field id. */
export type NextId = () => number

/** Called with every old id of a field and its new id. */
export type OnAssigned = (oldId: number, newId: number) => void

/**
 * Fields with new ids, in the order of the reference implementation: first all fields of a struct, then, field by
 * field, the fields inside them; the ids of a map's key and value before the fields inside them.
 */
export function assignFreshFieldIds(
  fields: readonly NestedField[],
  nextId: NextId,
  onAssigned: OnAssigned = () => {},
): readonly NestedField[] {
  const withIds = fields.map((field) => {
    const id = nextId()
    onAssigned(field.id, id)
    return { ...field, id }
  })
  return withIds.map((field) => ({ ...field, type: assignFreshTypeIds(field.type, nextId, onAssigned) }))
}

/** A type with new ids for everything nested in it; see {@link assignFreshFieldIds} for the order. */
export function assignFreshTypeIds(type: Type, nextId: NextId, onAssigned: OnAssigned = () => {}): Type {
  switch (type.kind) {
    case 'struct':
      return { kind: 'struct', fields: assignFreshFieldIds(type.fields, nextId, onAssigned) }
    case 'list': {
      const elementId = nextId()
      onAssigned(type.elementId, elementId)
      return { ...type, elementId, element: assignFreshTypeIds(type.element, nextId, onAssigned) }
    }
    case 'map': {
      const keyId = nextId()
      const valueId = nextId()
      onAssigned(type.keyId, keyId)
      onAssigned(type.valueId, valueId)
      const key = assignFreshTypeIds(type.key, nextId, onAssigned)
      return { ...type, keyId, key, valueId, value: assignFreshTypeIds(type.value, nextId, onAssigned) }
    }
    default:
      return type
  }
}
