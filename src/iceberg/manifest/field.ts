import type { AvroSchema } from '../avro/avro-schema.ts'
import { optionalField, requiredField } from '../avro/record-reader.ts'
import type { FieldBinding, Reader } from '../avro/record-reader.ts'
import { writeOptional, writeRequired } from '../avro/record-writer.ts'
import type { FieldName, WriteField, WriteType } from '../avro/record-writer.ts'

/** How the values of a field are written and read. */
export interface Codec<V> {
  readonly type: WriteType<V>
  readonly read: (schema: AvroSchema) => Reader<V>
}

/** A field of a manifest or manifest list: written from a source, and read into a draft. */
export interface Field<S, D> {
  readonly write: WriteField<S>
  readonly bind: FieldBinding<D>
}

/** Id, name and description of a field, as Java writes them. */
export interface ManifestFieldName extends FieldName {
  /** An older name of the field; files without field ids are read by name. */
  readonly alias?: string
}

/** Where a draft takes the value of a field. */
type Store<D, V> = (draft: D, value: V) => void

/** Describes the fields of a record that is written from `S` and read into `D`. */
export function describeFields<S, D>() {
  return {
    /** A field that every file has. */
    required<V>(
      name: ManifestFieldName,
      { type, read }: Codec<V>,
      { get, set }: { readonly get: (source: S) => V; readonly set: Store<D, V> },
    ): Field<S, D> {
      return { write: writeRequired(name, type, get), bind: requiredField(name.id, namesOf(name), { read, set }) }
    },
    /** A field that is always written, but that files of older versions lack; the draft has its default. */
    defaulted<V>(
      name: ManifestFieldName,
      { type, read }: Codec<V>,
      { get, set }: { readonly get: (source: S) => V; readonly set: Store<D, V> },
    ): Field<S, D> {
      return { write: writeRequired(name, type, get), bind: optionalField(name.id, namesOf(name), { read, set }) }
    },
    /** A field that may be null or missing. */
    optional<V>(
      name: ManifestFieldName,
      { type, read }: Codec<V>,
      { get, set }: { readonly get: (source: S) => V | undefined; readonly set: Store<D, V> },
    ): Field<S, D> {
      return { write: writeOptional(name, type, get), bind: optionalField(name.id, namesOf(name), { read, set }) }
    },
  }
}

/** The binding of a field for a reader that stores it in another draft or reads it in another form. */
export function bindInstead<D, V>(
  { fieldId, names, required }: Pick<FieldBinding<never>, 'fieldId' | 'names' | 'required'>,
  value: { readonly read: (schema: AvroSchema) => Reader<V>; readonly set: Store<D, V> },
): FieldBinding<D> {
  return required ? requiredField(fieldId, names, value) : optionalField(fieldId, names, value)
}

function namesOf({ name, alias }: ManifestFieldName): readonly string[] {
  return alias === undefined ? [name] : [name, alias]
}
