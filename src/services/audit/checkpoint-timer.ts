import type { Logger } from '../logger.ts'
import type { AuditLog } from './audit-log.ts'

/** How often the checkpoint of the audit log is written. */
const CHECKPOINT_MS = 60_000

/** Writes the checkpoint of the audit log every minute; the returned function writes it one last time and stops. */
export function startCheckpoints(auditLog: AuditLog, log: Logger): () => Promise<void> {
  const checkpoint = (): Promise<void> =>
    auditLog.checkpoint().catch((error: unknown) => log.error('the audit checkpoint was not written', { error }))
  const timer = setInterval(() => void checkpoint(), CHECKPOINT_MS)
  return () => {
    clearInterval(timer)
    return checkpoint()
  }
}
