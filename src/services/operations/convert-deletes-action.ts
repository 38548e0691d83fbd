import { previewConversion, runConversion } from '../../maintenance/delete-conversion/convert-deletes.ts'
import { type Action, ledgerHooks, reportProgress } from './action.ts'

/** Converting equality deletes, by the embedded engine. */
export const convertDeletesAction: Action = {
  preview: (input) => previewConversion(input),
  run: (input, handle) =>
    runConversion({
      ...input,
      operationId: handle.id,
      signal: handle.signal,
      hooks: { ...ledgerHooks(handle), onProgress: reportProgress(handle) },
    }),
}
