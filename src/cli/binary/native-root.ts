/** Where this process unpacks the native library. */
export interface NativeRoot {
  readonly folder: string
  /** See `UnpackOptions`. */
  readonly isQuick: boolean
}

let root: NativeRoot | undefined

/** Says where the native library is unpacked; before the engine is loaded. */
export function setNativeRoot(chosen: NativeRoot): void {
  root = chosen
}

/** Throws when {@link setNativeRoot} was not called. */
export function nativeRoot(): NativeRoot {
  if (root === undefined) throw new Error('the folder of the native library is not known')
  return root
}
