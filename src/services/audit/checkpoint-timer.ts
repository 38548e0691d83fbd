import { startLoop } from '../../lib/start-loop.ts'
import type { Logger } from '../logger.ts'
import type { AuditLog } from './audit-log.ts'

/** How often the checkpoint of the audit log is written. */
const CHECKPOINT_MS = 60_000

/** Writes the checkpoint of the audit log every minute; the returned function writes it one last time and stops. */
export function startCheckpoints(auditLog: AuditLog, log: Logger): () => Promise<void> {
  const tick = (): Promise<void> => auditLog.checkpoint()
  const onError = (error: unknown): void => log.error('the audit checkpoint was not written', { error })
  const loop = startLoop({ everyMs: CHECKPOINT_MS, firstMs: CHECKPOINT_MS, tick, onError })
  return async () => {
    await loop.stop()
    await tick().catch(onError)
  }
}
