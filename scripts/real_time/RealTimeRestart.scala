package org.apache.spark.sql.execution.streaming.state

import java.io.File
import java.nio.file.{Files, Paths, StandardCopyOption}
import java.sql.Timestamp

import scala.util.Try

import org.apache.spark.sql.execution.streaming.RealTimeTrigger
import org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream
import org.apache.spark.sql.functions.{count, window}
import org.apache.spark.sql.streaming.Trigger

/** Restarts of a query in real-time mode, without the last commit: `spark-submit ... RealTimeRestart OUT`. */
object RealTimeRestart {
  private val BatchMs = 2000L
  private val Clock = "\"batchTimestampMs\":(\\d+)".r

  def main(args: Array[String]): Unit = {
    val spark = ThisSpark.session()
    spark.sparkContext.setLogLevel("OFF")
    import spark.implicits._
    val input = LowLatencyMemoryStream.singlePartition[Sent](spark)
    val out = args.head

    def run(checkpoint: String, trigger: Trigger, runMs: Long): Unit = {
      val timed = input.toDF().withWatermark("ts", "2 seconds")
      val rows = timed.groupBy(window($"ts", "1 second"), $"user").agg(count("*"))
      val query = rows.writeStream.outputMode("update").foreach(Nowhere).trigger(trigger)
        .option("checkpointLocation", checkpoint).start()
      val begin = System.currentTimeMillis
      var last = ""
      while (System.currentTimeMillis < begin + runMs && query.isActive) {
        val now = System.currentTimeMillis
        input.addData(Sent(s"user-${now % 37}", new Timestamp(now)))
        val names = s"offsets ${entries(checkpoint, "offsets")}, commits ${entries(checkpoint, "commits")}"
        if (names != last) println(f"    ${now - begin}%5d ms: $names")
        last = names
        Thread.sleep(100)
      }
      query.exception.foreach(error => println(s"    FAILED: ${error.getMessage.linesIterator.next()}"))
      query.stop()
    }

    def edited(name: String)(edit: File => Unit): String = {
      val copy = new File(s"$out/$name")
      copyTree(new File(s"$out/first"), copy)
      edit(copy)
      println(s"### $name: clocks ${clocks(copy.getPath)}")
      copy.getPath
    }

    println("### first run")
    run(s"$out/first", RealTimeTrigger(BatchMs), 11000L)
    println(s"### first: clocks ${clocks(s"$out/first")}")
    val newest = entries(s"$out/first", "commits").max
    val uncommitted = (root: File) => remove(root, "commits", newest)
    val planned = (root: File) => Seq("", ".crc").foreach { suffix =>
      val hidden = if (suffix.isEmpty) "" else "."
      val from = Paths.get(s"$root/offsets/$hidden$newest$suffix")
      if (Files.exists(from)) Files.copy(from, Paths.get(s"$root/offsets/$hidden${newest + 1}$suffix"))
    }
    for ((name, edit) <- Seq("uncommitted" -> uncommitted, "planned" -> planned)) {
      for ((mode, trigger) <- Seq("real-time" -> RealTimeTrigger(BatchMs), "micro-batch" -> Trigger.ProcessingTime(500))) {
        val root = edited(s"$name-$mode")(edit)
        run(root, trigger, 7000L)
        println(s"    afterwards: clocks ${clocks(root)}")
      }
    }
    spark.stop()
  }

  private def entries(root: String, log: String): Seq[Int] =
    Option(new File(s"$root/$log").list()).toSeq.flatten.flatMap(name => Try(name.toInt).toOption).sorted

  private def clocks(root: String): String =
    entries(root, "offsets").map { n =>
      val text = Try(new String(Files.readAllBytes(Paths.get(s"$root/offsets/$n")))).getOrElse("")
      s"$n=${Clock.findFirstMatchIn(text).map(_.group(1).takeRight(8)).getOrElse("?")}"
    }.mkString(" ")

  private def remove(root: File, log: String, n: Int): Unit =
    Seq(s"$root/$log/$n", s"$root/$log/.$n.crc").foreach(path => Files.deleteIfExists(Paths.get(path)))

  private def copyTree(from: File, to: File): Unit =
    if (from.isDirectory) {
      to.mkdirs()
      from.list().foreach(name => copyTree(new File(from, name), new File(to, name)))
    } else Files.copy(from.toPath, to.toPath, StandardCopyOption.COPY_ATTRIBUTES)
}
