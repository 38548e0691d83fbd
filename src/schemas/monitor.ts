import { z } from 'zod'
import { count, timestamp } from './common.ts'
import { pipeline, pipelineProgress } from './pipelines.ts'

export const monitorQuery = z.strictObject({
  pipeline_id: z.string().min(1).max(200).optional().meta({ description: 'Only this pipeline' }),
})

const seq = count.meta({ description: 'Number of the message in this process; increases with each message' })
const dropped = count.meta({
  description: 'Number of messages since the previous one that newer messages of the same pipeline and type replaced',
})

const hello = z.object({ type: z.literal('hello'), seq, at: timestamp, pipelines: z.array(pipeline) })
const state = z.object({ type: z.literal('state'), seq, dropped, pipeline_id: z.string(), pipeline })
const progress = z.object({
  type: z.literal('progress'),
  seq,
  dropped,
  pipeline_id: z.string(),
  progress: pipelineProgress,
})
const heartbeat = z.object({ type: z.literal('heartbeat'), seq, dropped, at: timestamp })

/** A text frame of the monitor (docs/api.md#monitor). */
export const monitorMessage = z
  .discriminatedUnion('type', [hello, state, progress, heartbeat])
  .meta({ id: 'MonitorMessage' })
