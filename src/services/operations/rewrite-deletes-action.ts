import { previewDeleteRewrite, runDeleteRewrite } from '../../maintenance/position-deletes/rewrite-position-deletes.ts'
import { type Action, ledgerHooks, reportProgress } from './action.ts'

/** Merging position delete files, by the embedded engine. */
export const rewriteDeletesAction: Action = {
  preview: (input) => previewDeleteRewrite(input),
  run: (input, handle) =>
    runDeleteRewrite({
      ...input,
      operationId: handle.id,
      signal: handle.signal,
      hooks: { ...ledgerHooks(handle), onProgress: reportProgress(handle) },
    }),
}
