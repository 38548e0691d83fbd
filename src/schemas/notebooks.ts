import { z } from 'zod'
import { timestamp } from './common.ts'

/** Request of POST /api/notebook/start; may be left out. */
export const startNotebookRequest = z.strictObject({
  image: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .meta({ description: 'One of the images that are allowed here; a notebook that runs keeps the one it has' }),
})

/** A user's notebook (spec, section 2; contract, section 9). */
export const notebookStatus = z
  .object({
    status: z.enum(['not_found', 'pending', 'running', 'failed']),
    user_id: z.string(),
    url: z.string().meta({ description: 'Where the notebook is, under this service', example: '/notebook/ana/' }),
    reason: z.string().optional().meta({ description: 'One sentence, where there is something to say' }),
    started_at: timestamp.optional(),
    last_activity: timestamp.optional().meta({ description: 'When something was last done in it, as far as is known' }),
    expires_at: timestamp.optional().meta({ description: 'When it will be stopped unless something is done in it' }),
    session_id: z
      .string()
      .optional()
      .meta({ description: 'Changes with each new pod; `object_id` of the events about it' }),
  })
  .meta({ id: 'NotebookStatus' })

export type StartNotebookRequest = z.infer<typeof startNotebookRequest>
export type NotebookStatus = z.infer<typeof notebookStatus>
