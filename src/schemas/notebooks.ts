import { z } from 'zod'
import { timestamp } from './common.ts'

/** Request of POST /api/notebook/start; optional. */
export const startNotebookRequest = z.strictObject({
  image: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .meta({ description: 'One of the allowed images; a running notebook keeps its image' }),
})

/** A user's notebook (docs/api.md#notebooks). */
export const notebookStatus = z
  .object({
    status: z.enum(['not_found', 'pending', 'running', 'failed']),
    user_id: z.string(),
    url: z
      .string()
      .meta({ description: 'Path of the notebook on the host of this service', example: '/notebook/ana/' }),
    reason: z.string().optional().meta({ description: 'An explanation in one sentence, if needed' }),
    started_at: timestamp.optional(),
    last_activity: timestamp.optional().meta({ description: 'Time of the last use, if known' }),
    expires_at: timestamp.optional().meta({ description: 'When it will be stopped unless it is used' }),
    session_id: z
      .string()
      .optional()
      .meta({ description: 'Changes with each new pod; `object_id` of the events about it' }),
  })
  .meta({ id: 'NotebookStatus' })

export type StartNotebookRequest = z.infer<typeof startNotebookRequest>
export type NotebookStatus = z.infer<typeof notebookStatus>
