import { readEnv } from './config/env.ts'
import { startService } from './server/start-service.ts'

await startService(readEnv())
