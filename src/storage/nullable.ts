type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], null | undefined> }

/** The properties that have a value: NULL columns become absent properties. */
export function decodeOptional<T extends object>(columns: T): Present<T> {
  return Object.fromEntries(
    Object.entries(columns).filter(([, value]) => value !== null && value !== undefined),
  ) as Present<T>
}
