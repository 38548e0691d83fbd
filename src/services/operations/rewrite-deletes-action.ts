import { previewDeleteRewrite, runDeleteRewrite } from '../../maintenance/position-deletes/rewrite-position-deletes.ts'
import { type Action, ledgerHooks } from './action.ts'

/** Merging position delete files, by the embedded engine. */
export const rewriteDeletesAction: Action = {
  preview: (input) => previewDeleteRewrite(input),
  run: (input, handle) =>
    runDeleteRewrite({
      ...input,
      operationId: handle.id,
      signal: handle.signal,
      hooks: {
        ...ledgerHooks(handle),
        onProgress: ({ filesDone, filesTotal, bytesDone, bytesTotal }) =>
          handle.progress({
            files_done: filesDone,
            files_total: filesTotal,
            bytes_done: bytesDone,
            bytes_total: bytesTotal,
          }),
      },
    }),
}
