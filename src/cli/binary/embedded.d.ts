/** Made by `scripts/binary/build.ts`: what the executable contains besides code. */
declare module 'embedded:files' {
  import type { NativeFile } from './native-library.ts'
  import type { PageFile } from './page-files.ts'

  /** The web page with its compressed variants, by URL path. */
  export const page: Readonly<Record<string, PageFile>>
  export const native: readonly NativeFile[]
}
