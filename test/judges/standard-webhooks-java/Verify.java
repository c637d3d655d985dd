// Judges each line of a file of deliveries, and prints how many cases passed and failed.
import com.standardwebhooks.Webhook;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;

public class Verify {
    static boolean accepts(String secret, String body, Map<String, List<String>> headers) {
        try {
            new Webhook(secret).verify(body, headers);
            return true;
        } catch (Exception refusal) {
            return false;
        }
    }

    public static void main(String[] args) throws Exception {
        int passed = 0;
        int failed = 0;
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] fields = line.split("\t");
            Map<String, List<String>> headers = Map.of(
                "webhook-id", List.of(fields[2]),
                "webhook-timestamp", List.of(fields[3]),
                "webhook-signature", List.of(fields[4]));
            String body = new String(Base64.getDecoder().decode(fields[5]), StandardCharsets.UTF_8);
            String[] secrets = fields[1].split(",");
            int count = 0;
            for (String secret : secrets) if (accepts(secret, body, headers)) count++;
            boolean ok = switch (fields[0]) {
                case "each" -> count == secrets.length;
                case "any" -> count > 0;
                default -> count == 0;
            };
            if (ok) passed++;
            else failed++;
        }
        System.out.println(passed + " " + failed);
    }
}
