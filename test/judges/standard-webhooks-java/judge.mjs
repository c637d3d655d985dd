// The official library for Java, from Maven Central.
import { join } from 'node:path';
import { captureDeliveries, judgeByProgram, run, writeLines } from '../standard-webhooks.mjs';

const VERSION = '1.2.0';

export const judge = {
  name: 'Standard Webhooks, Java',
  version: `standardwebhooks ${VERSION}`,
  what: 'v1 of each delivery, over a rotation of the secret under load',
  needs: ['java', 'mvn'],
  run: async ({ say, folder }) => {
    const artifact = `-Dartifact=com.standardwebhooks:standardwebhooks:${VERSION}`;
    await run('mvn', ['-q', '-B', 'dependency:copy', artifact, `-DoutputDirectory=${folder}`], {
      cwd: folder,
    });
    const { lines } = await captureDeliveries(say);
    const jar = join(folder, `standardwebhooks-${VERSION}.jar`);
    const program = join(import.meta.dirname, 'Verify.java');
    return judgeByProgram('java', ['-cp', jar, program, writeLines(folder, lines)]);
  },
};
